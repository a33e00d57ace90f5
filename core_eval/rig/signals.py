"""What ends a run early: signals, a person, a rig that cannot be used.

SIGINT, SIGTERM, SIGHUP and SIGQUIT become exceptions, raised only where the run may be interrupted. A person
stops the rig at once, from another thread, then the episode and the run.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class StopRequested(BaseException):
    """A signal requests the end of the run; the exit status is 128 plus the signal's number."""

    def __init__(self, signum: int) -> None:
        super().__init__(f"stopped by {signal.Signals(signum).name}")
        self.exit_status = 128 + signum


def _handled() -> list[signal.Signals]:
    # `nohup` ignores SIGHUP so that the run outlives the terminal.
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [number for number in SIGNALS if not (ignored and number is signal.SIGHUP)]


class StopSignals:
    """Context in which these signals raise `StopRequested`, in `interruptible` blocks only.

    Elsewhere a signal is deferred, so that logging and clean-up are never interrupted. An ignored SIGHUP
    stays ignored.
    """

    def __init__(self) -> None:
        self._signum: int | None = None
        self._interruptible = False
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():
            self._previous = {number: signal.signal(number, self._handle) for number in _handled()}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Context for a wait (for a model, for a device) that a signal may interrupt at any point.

        Raises:
            StopRequested: a signal was received, in it or before.
        """
        if self._signum is not None:
            raise StopRequested(self._signum)
        self._interruptible = True
        try:
            yield
        finally:
            self._interruptible = False
        if self._signum is not None:
            raise StopRequested(self._signum)

    def _handle(self, signum: int, _frame: FrameType | None) -> None:
        self._signum = signum
        if self._interruptible:
            self._interruptible = False
            raise StopRequested(signum)


class RigError(Exception):
    """A rig cannot be used; the text is one line with the cause."""


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
