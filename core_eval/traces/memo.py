"""A dictionary of bounded size for results that may be asked for again."""

from __future__ import annotations

from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

FEWEST_KEPT, MOST_KEPT = 64, 1024
"""When so many are kept, all are dropped. To track their use would cost more than it saves. What is kept and
not asked for again costs more time than to work it out (it leaves the processor's cache), so fewer are kept
where that is so."""
WORTH = 16
"""One in so many kept results must have been asked for again."""


class Memo(Generic[K, V]):
    """Keeps results by their key.

    Attributes:
        hits: who gets a result counts it here.
    """

    def __init__(self) -> None:
        self._kept: dict[K, V] = {}
        self._most = MOST_KEPT
        self.get = self._kept.get
        self.hits = 0

    def keep(self, key: K, value: V) -> V:
        """Keep a result and return it."""
        if len(self._kept) >= self._most:
            self._most = MOST_KEPT if self.hits * WORTH >= self._most else FEWEST_KEPT
            self.hits = 0
            self._kept.clear()
        self._kept[key] = value
        return value
