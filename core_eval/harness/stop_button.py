"""A person's stop from another thread: the rig at once, then the episode, then the run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class StoppedByPerson(Exception):
    """A person pressed the stop, so the run ends after the episode that was stopped."""

    def __init__(self) -> None:
        super().__init__("stopped by a person")


class StopButton:
    """Once pressed it stays pressed: nothing more of the run moves the rig."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pressed = threading.Event()
        self._stop_rig: Callable[[], None] | None = None

    @property
    def pressed(self) -> bool:
        """Whether somebody pressed it."""
        return self._pressed.is_set()

    def press(self) -> None:
        """Stop the rig that is driven now, in mid-call too; returns when it was told. From any thread."""
        self._pressed.set()
        with self._lock:
            if self._stop_rig is not None:
                self._stop_rig()

    @contextmanager
    def over(self, stop_rig: Callable[[], None]) -> Iterator[None]:
        """While an episode drives a rig: pressing calls `stop_rig`, which must not raise."""
        with self._lock:
            self._stop_rig = stop_rig
        try:
            yield
        finally:
            with self._lock:
                self._stop_rig = None
