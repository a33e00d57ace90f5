"""The events of a live page so far, for pages that are opened late."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

PAST = 200
"""Maximum number of ended episodes that are kept."""


@dataclass(frozen=True, slots=True)
class PageEvent:
    """An event to show: an increasing number, a kind, and JSON text."""

    id: int
    kind: str
    data: str


class History:
    """The current events of the run: those of the last episode, and a line for each one before.

    Written by one thread and read by others. An event with a key takes the place of the last one with it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._events: dict[str, PageEvent] = {}
        self._past: list[PageEvent] = []
        self._count = 0
        self._wakers: set[Callable[[], None]] = set()
        self._closed = False

    @property
    def watched(self) -> bool:
        """Whether a page is open."""
        with self._lock:
            return bool(self._wakers)

    @property
    def closed(self) -> bool:
        """Whether no more events follow."""
        return self._closed

    def add(self, kind: str, data: Mapping[str, Any], key: str | None = None) -> None:
        """Add an event; the kind `episode` starts a new page, and `past` is kept across pages."""
        text = json.dumps(data, ensure_ascii=False, default=str)
        with self._lock:
            self._count += 1
            event = PageEvent(self._count, kind, text)
            if kind == "episode":
                self._events.clear()
            if kind == "past":
                self._past = [*self._past[1 - PAST :], event]
            else:
                name = key or f"#{event.id}"
                # Removed first, so that the newest is always last.
                self._events.pop(name, None)
                self._events[name] = event
        self._wake()

    def since(self, last: int) -> list[PageEvent]:
        """Return the current events after the one with this number, oldest first."""
        with self._lock:
            events = [event for event in (*self._past, *self._events.values()) if event.id > last]
        return sorted(events, key=lambda event: event.id)

    def close(self) -> None:
        """End the history, and wake all waiting readers."""
        self._closed = True
        self._wake()

    @contextmanager
    def watch(self, wake: Callable[[], None]) -> Iterator[None]:
        """Call `wake` after each event, on the thread that added it; it must not block."""
        with self._lock:
            self._wakers.add(wake)
        try:
            yield
        finally:
            with self._lock:
                self._wakers.discard(wake)

    def _wake(self) -> None:
        with self._lock:
            wakers = tuple(self._wakers)
        for wake in wakers:
            wake()
