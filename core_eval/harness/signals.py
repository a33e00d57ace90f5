"""Ctrl-C, SIGTERM and a closed terminal as orderly ways out: they strike while we wait, not while we log."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequested(BaseException):
    """A person or the system wants the run to end; the exit status is 128 plus the signal's number."""

    def __init__(self, signum: int) -> None:
        super().__init__(f"stopped by {signal.Signals(signum).name}")
        self.exit_status = 128 + signum


def _taken() -> list[signal.Signals]:
    outlive = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [number for number in SIGNALS if not (outlive and number is signal.SIGHUP)]


class StopSignals:
    """Context in which these signals become `StopRequested`, raised only where the code says it may be.

    A signal that comes elsewhere is kept until the next such place, so cleaning up is never cut short. A
    SIGHUP that is ignored stays so: whoever started us (`nohup`) wants us to outlive the terminal.
    """

    def __init__(self) -> None:
        self._signum: int | None = None
        self._interruptible = False
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():
            self._previous = {number: signal.signal(number, self._handle) for number in _taken()}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def check(self) -> None:
        """Raise what was kept.

        Raises:
            StopRequested: a signal came.
        """
        if self._signum is not None:
            raise StopRequested(self._signum)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """A stretch of waiting (for a model, for a device) that a signal may end at any point."""
        self.check()
        self._interruptible = True
        try:
            yield
        finally:
            self._interruptible = False
        self.check()

    def _handle(self, signum: int, _frame: FrameType | None) -> None:
        self._signum = signum
        if self._interruptible:
            self._interruptible = False
            raise StopRequested(signum)
