"""The agent of a model's backend: its scaffold, with the prompt that its options give."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agents.agent import Agent
from agents.backends.backend import ChatBackend
from agents.options import ModelOptions
from agents.scaffolds.native import NativeScaffold
from agents.scaffolds.own_prompt import own_prompt
from agents.scaffolds.react import ReactScaffold

SCAFFOLDS: Mapping[str, Callable[..., NativeScaffold | ReactScaffold]] = {
    NativeScaffold.scaffold: NativeScaffold,
    ReactScaffold.scaffold: ReactScaffold,
}


def prompted(make: Callable[[], ChatBackend], options: ModelOptions) -> Agent:
    """Return the agent of a backend, which is made once its prompt is read."""
    own = own_prompt(options)
    return SCAFFOLDS[options.scaffold](make(), own=own, answer_tokens=options.answer_tokens)
