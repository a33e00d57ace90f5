"""How long work shows its progress: an iterator that counts what has been taken from it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

T = TypeVar("T")


class Tracked(Protocol):
    """Yields the items and shows that `what` is being done, to so many of `total`."""

    def __call__(self, what: str, items: Iterable[T], total: int, /) -> Iterable[T]:
        """Return the items."""


def untracked(_what: str, items: Iterable[T], _total: int, /) -> Iterable[T]:
    """Return the items and show nothing."""
    return items
