"""A clock that stands until a test moves it, for threads that wait by it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

REAL_SECONDS = 10.0
"""Time that a thread may take to come back to its wait on a busy machine."""


class GivenClock:
    """A `Clock`. `advance` lets each thread act at its own moment, in the order of the moments.

    Args:
        threads: how many threads wait by this clock as long as nothing happens.
    """

    def __init__(self, threads: int = 0, at: float = 100.0) -> None:
        self._now, self._threads = at, threads
        self._ends: dict[int, float] = {}
        self._changed = threading.Condition()

    def now(self) -> float:
        return self._now

    def wait(self, signal: threading.Event | threading.Condition, seconds: float) -> bool:
        with self._sleeping(self._now + seconds) as end:
            while self._now < end:
                if signal.wait(0.002):
                    return True
        return isinstance(signal, threading.Event) and signal.is_set()

    def jump(self, seconds: float) -> None:
        """Move on at once, as after a suspend; whoever waits finds it late."""
        self._now += seconds
        self.settle()

    def advance(self, seconds: float) -> None:
        """Move on, stopping wherever a thread's wait ends, until all wait again."""
        target = self._now + seconds
        self.settle()
        while ends := [end for end in self._sleepers() if end <= target + 1e-12]:
            self._now = max(self._now, min(ends))
            self.settle()
        self._now = target
        self.settle()

    def settle(self) -> None:
        """Wait until the threads wait for later moments."""
        until = time.monotonic() + REAL_SECONDS
        while time.monotonic() < until:
            ends = self._sleepers()
            if len(ends) >= self._threads and all(end > self._now for end in ends):
                return
            time.sleep(0.001)
        raise AssertionError(f"{len(self._sleepers())} of {self._threads} threads wait by the given clock")

    def threads(self, number: int) -> None:
        """From now on so many threads wait by it."""
        self._threads = number

    def _sleepers(self) -> list[float]:
        with self._changed:
            return list(self._ends.values())

    @contextmanager
    def _sleeping(self, end: float) -> Iterator[float]:
        me = threading.get_ident()
        with self._changed:
            self._ends[me] = end
        try:
            yield end
        finally:
            with self._changed:
                del self._ends[me]
