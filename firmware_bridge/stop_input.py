"""The stop input of a device in Python: the counterpart of a board's, with the same states."""

from __future__ import annotations

import threading
from collections.abc import Callable

from firmware_bridge.messages import StopInputState


class StopInput:
    """A latching stop input: `pressed` until it is released, then `latched` until it is forgotten.

    Methods may be called from any thread, but not from a signal handler.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pressed = self._latched = False
        self.on_change: Callable[[], None] = lambda: None
        """Called, in the caller's thread, when it was pressed or released."""

    @property
    def state(self) -> StopInputState:
        """`released`, `pressed` or `latched`."""
        with self._lock:
            return "pressed" if self._pressed else "latched" if self._latched else "released"

    def press(self) -> None:
        """Press it, or cut its cable."""
        with self._lock:
            self._pressed = self._latched = True
        self.on_change()

    def release(self) -> None:
        """Release it."""
        with self._lock:
            self._pressed = False
        self.on_change()

    def forget(self) -> None:
        """Forget a press, unless it is pressed still."""
        with self._lock:
            self._latched = self._pressed
