"""The scaffolds, by the names that options give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agents.agent import Agent
from agents.backends.backend import ChatBackend
from agents.scaffolds.native import NativeScaffold
from agents.scaffolds.react import ReactScaffold

SCAFFOLDS: Mapping[str, Callable[[ChatBackend], Agent]] = {
    NativeScaffold.scaffold: NativeScaffold,
    ReactScaffold.scaffold: ReactScaffold,
}
