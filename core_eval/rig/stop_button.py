"""A person's stop from another thread: of the rig at once, then of the episode and of the run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class StoppedByPerson(Exception):
    """A person pressed the stop; the run ends with the stopped episode."""

    def __init__(self) -> None:
        super().__init__("stopped by a person")


class StopButton:
    """A latching stop: once pressed, nothing in the run moves a rig.

    Attributes:
        pressed: whether it was pressed.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.pressed = False
        self._stop_rig: Callable[[], None] | None = None

    def press(self) -> None:
        """Stop the driven rig, also during a call; return when the stop was sent. From any thread."""
        self.pressed = True
        with self._lock:
            if self._stop_rig is not None:
                self._stop_rig()

    @contextmanager
    def connected(self, stop_rig: Callable[[], None]) -> Iterator[None]:
        """Call `stop_rig`, which must not raise, when the button is pressed during the context."""
        with self._lock:
            self._stop_rig = stop_rig
        try:
            yield
        finally:
            with self._lock:
                self._stop_rig = None
