"""The agent of a model's backend: its scaffold, with the prompt that its options give."""

from __future__ import annotations

from collections.abc import Callable

from agents.agent import Agent
from agents.backends.backend import ChatBackend
from agents.options import ModelOptions
from agents.scaffolds.own_prompt import own_prompt
from agents.scaffolds.registry import SCAFFOLDS


def prompted(make: Callable[[], ChatBackend], options: ModelOptions) -> Agent:
    """Return the agent of a backend, which is made once its prompt is read."""
    own = own_prompt(options)
    return SCAFFOLDS[options.scaffold](make(), own=own, answer_tokens=options.answer_tokens)
