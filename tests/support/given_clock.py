"""A clock that stands until a test moves it, for threads that wait by it."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import TypeVar

T = TypeVar("T")

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

    def get(self, queue: SimpleQueue[T], seconds: float) -> T:
        with self._sleeping(self._now + seconds) as end:
            while self._now < end:
                with suppress(Empty):
                    return queue.get(timeout=0.002)
        return queue.get_nowait()

    def sleep(self, seconds: float) -> None:
        self.wait(threading.Event(), seconds)

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


class PlannedClock:
    """A `Clock` for code of one thread: a wait moves it on, and what is planned happens at its moments."""

    def __init__(self, at: float = 100.0) -> None:
        self._start = self._now = at
        self._plans: list[tuple[float, int, Callable[[], object]]] = []
        self._number = itertools.count()

    @property
    def passed(self) -> float:
        """Seconds since its start."""
        return round(self._now - self._start, 6)

    def at(self, seconds: float, act: Callable[[], object]) -> None:
        """Plan an act at so many seconds after the start."""
        heapq.heappush(self._plans, (self._start + seconds, next(self._number), act))

    def later(self, seconds: float, act: Callable[[], object]) -> None:
        """Plan an act at so many seconds from now."""
        self.at(self._now - self._start + seconds, act)

    def now(self) -> float:
        return self._now

    def wait(self, signal: threading.Event | threading.Condition, seconds: float) -> bool:
        assert isinstance(signal, threading.Event), "nobody else could notify"
        return self._until(self._now + seconds, signal.is_set)

    def get(self, queue: SimpleQueue[T], seconds: float) -> T:
        self._until(self._now + seconds, lambda: not queue.empty())
        return queue.get_nowait()

    def sleep(self, seconds: float) -> None:
        self._until(self._now + seconds, lambda: False)

    def _until(self, end: float, done: Callable[[], bool]) -> bool:
        while not done() and self._plans and self._plans[0][0] <= end:
            moment, _, act = heapq.heappop(self._plans)
            self._now = max(self._now, moment)
            act()
        if not done():
            self._now = max(self._now, end)
        return done()
