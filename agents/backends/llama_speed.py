"""How fast a model is on this machine, and whether limits leave time for a first answer."""

from __future__ import annotations

import time
from collections.abc import Sequence

from agents.agent import AgentSpecError, Limits
from agents.backends.backend import FIRST_ANSWER_TOKENS, Speed
from agents.backends.llama_engine import LlamaEngine

MEASURED_TOKENS = 256
MEASURED_SECONDS = 3.0
"""Either is enough to know the speed."""
WRITTEN_TOKENS = 8


def measured_speed(engine: LlamaEngine, prompt: Sequence[int]) -> Speed:
    """Return the speed on the beginning of a prompt; the context is empty afterwards.

    The first chunk is evaluated twice, and counts the second time: it brings the weights into memory.
    """
    engine.rewind(0)
    for _ in engine.evaluate(prompt[: engine.n_batch]):
        pass
    engine.rewind(0)
    begun = time.monotonic()
    for _ in engine.evaluate(prompt[:MEASURED_TOKENS]):
        if time.monotonic() - begun > MEASURED_SECONDS:
            break
    reading, done = time.monotonic() - begun, len(engine.evaluated)
    begun = time.monotonic()
    for token in prompt[:WRITTEN_TOKENS]:
        for _ in engine.evaluate([token]):
            pass
    writing = time.monotonic() - begun
    engine.rewind(0)
    return Speed(done / reading, min(len(prompt), WRITTEN_TOKENS) / writing)


def check_context(name: str, prompt_tokens: int, n_ctx: int, trained: int | None) -> None:
    """Raise where the context does not take a first answer; `trained`: the most that the model takes.

    Raises:
        AgentSpecError: one line with the figures.
    """
    if prompt_tokens + FIRST_ANSWER_TOKENS > n_ctx:
        needed = prompt_tokens + FIRST_ANSWER_TOKENS
        todo = f"give a larger n_ctx, {needed} or more"
        if trained is not None and needed > trained:
            todo = f"the model was trained with {trained}, and needs {needed}: take another model"
        raise AgentSpecError(
            f"{name}: the first prompt has {prompt_tokens} tokens, and the context {n_ctx}: {todo}"
        )


def check_time(name: str, prompt_tokens: int, speed: Speed, limits: Limits) -> None:
    """Raise where the time does not suffice for a first answer.

    Raises:
        AgentSpecError: one line with the figures.
    """
    if speed.first_answer(prompt_tokens) > limits.seconds:
        reading, writing = prompt_tokens / speed.prompt, FIRST_ANSWER_TOKENS / speed.writing
        raise AgentSpecError(
            f"{name}: the first prompt has {prompt_tokens} tokens, which takes {reading:.3g} s at "
            f"{speed.prompt:.3g} tokens/s, and a short answer {writing:.3g} s: more than the limit of "
            f"{limits.seconds:g} s; give a longer one (--set max_seconds=N), or a faster model"
        )
