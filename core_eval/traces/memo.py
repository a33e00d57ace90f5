"""A dictionary of bounded size for results that may be asked for again."""

from __future__ import annotations

from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

MOST_KEPT = 1024
"""When so many are kept, all are dropped. To track their use would cost more than it saves, and to keep many
more costs time of the garbage collector."""


class Memo(Generic[K, V]):
    """Keeps results by their key."""

    def __init__(self) -> None:
        self._kept: dict[K, V] = {}
        self.get = self._kept.get

    def keep(self, key: K, value: V) -> V:
        """Keep a result and return it."""
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        self._kept[key] = value
        return value
