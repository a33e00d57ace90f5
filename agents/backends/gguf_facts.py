"""What a GGUF states of itself besides its weights: its licence, and how its makers sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agents.backends.llama_engine import LlamaEngine

OPTION_OF: Mapping[str, str] = {
    "temp": "temperature",
    "top_k": "top_k",
    "top_p": "top_p",
    "min_p": "min_p",
}
"""Keys below `general.sampling.` that the kit follows, and its options (llama.cpp, gguf-py constants)."""
NOT_FOLLOWED = (
    *("sequence", "xtc_probability", "xtc_threshold", "penalty_last_n", "penalty_repeat"),
    *("mirostat", "mirostat_tau", "mirostat_eta"),
)
"""The other keys there, which the kit's sampler has not."""


@dataclass(frozen=True)
class GgufFacts:
    """What a file states.

    Attributes:
        licence: as its makers wrote it; None where they did not.
        sampling: options of the kit, by name, as the file writes them; empty where it states none.
        not_followed: keys of sampling that the file states and the kit does not follow.
    """

    licence: str | None
    sampling: Mapping[str, str]
    not_followed: tuple[str, ...]


def gguf_facts(path: Path) -> GgufFacts:
    """Read a file's metadata; the weights are not loaded.

    Raises:
        AgentSpecError: the file is no GGUF, or llama-cpp-python is not installed.
    """
    engine = LlamaEngine(path, n_ctx=0, n_threads=1, only_words=True)
    try:
        stated = {key: engine.meta(f"general.sampling.{key}") for key in (*OPTION_OF, *NOT_FOLLOWED)}
        return GgufFacts(
            engine.meta("general.license"),
            {option: text for key, option in OPTION_OF.items() if (text := stated[key]) is not None},
            tuple(key for key in NOT_FOLLOWED if stated[key] is not None),
        )
    finally:
        engine.close()
