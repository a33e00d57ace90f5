"""The scaffolds, by the names that options give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agents.scaffolds.native import NativeScaffold
from agents.scaffolds.react import ReactScaffold

SCAFFOLDS: Mapping[str, Callable[..., NativeScaffold | ReactScaffold]] = {
    NativeScaffold.scaffold: NativeScaffold,
    ReactScaffold.scaffold: ReactScaffold,
}
