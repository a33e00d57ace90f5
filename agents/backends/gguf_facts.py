"""What a GGUF states of itself besides its weights: its licence, and how its makers sample."""

from __future__ import annotations

import json
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


BYTES_OF = {"f32": 4.0, "f16": 2.0, "bf16": 2.0, "q8_0": 34 / 32, "q5_1": 24 / 32, "q5_0": 22 / 32,
            "q4_1": 20 / 32, "q4_0": 18 / 32}  # fmt: skip
"""Bytes of a number in the KV cache, by its type (ggml's blocks of 32)."""
COMPUTING = 0.1
"""What llama.cpp takes beside weights and cache, as a share of them."""
LEAST = 64 * 2**20
"""Bytes that it takes at least, with its own program text."""


def memory_needed(path: Path, n_ctx: int, kv_type: str = "q8_0") -> int:
    """Return the estimated bytes for weights, KV cache and computing.

    The cache has a key and a value for each layer, head and token. What the file does not state counts as 0.

    Raises:
        AgentSpecError: the file is no GGUF, or llama-cpp-python is not installed.
    """
    engine = LlamaEngine(path, n_ctx=0, n_threads=1, only_words=True)
    try:
        kind = engine.meta("general.architecture") or ""

        def stated(key: str) -> float:
            return _number(engine.meta(f"{kind}.{key}"))

        heads = stated("attention.head_count")
        width = stated("embedding_length") / heads if heads else 0.0
        numbers = (stated("attention.key_length") or width) + (stated("attention.value_length") or width)
        numbers *= stated("block_count") * (stated("attention.head_count_kv") or heads)
        tokens = min(n_ctx, stated("context_length") or n_ctx)
    finally:
        engine.close()
    held = path.stat().st_size + tokens * numbers * BYTES_OF.get(kv_type, 2.0)
    return int(held + max(LEAST, COMPUTING * held))


def _number(text: str | None) -> float:
    """Return a number of the metadata; of a list, one for each layer, the largest; 0 where there is none."""
    try:
        found = json.loads(text or "0")
    except ValueError:
        return 0.0
    return float(max(found, default=0.0) if isinstance(found, list) else found)
