"""Deadlines of answers, and their cancellation."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

SLICE_SECONDS = 0.2
"""Longest single wait, s: a signal that arrives just before a wait is handled only after it."""


class CancelledError(Exception):
    """The answer is no longer needed: a person's stop, a signal, or the end of the episode."""


class Cancellation:
    """Signals an agent, on any thread, that its episode is over; it is never reset.

    Attributes:
        cancelled: whether the episode is over.
    """

    def __init__(self) -> None:
        self.cancelled = False
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._wakers: list[Callable[[], None]] = []

    def cancel(self) -> None:
        """End the episode, and wake all that wait in it. From any thread; never blocks."""
        self.cancelled = True
        self._event.set()
        with self._lock:
            wakers = tuple(self._wakers)
        for wake in wakers:
            wake()

    @contextmanager
    def waking(self, wake: Callable[[], None]) -> Iterator[None]:
        """Call `wake` on cancellation, or at once if already cancelled; it must not block."""
        with self._lock:
            self._wakers.append(wake)
        try:
            if self.cancelled:
                wake()
            yield
        finally:
            with self._lock:
                self._wakers.remove(wake)

    def wait(self, seconds: float) -> bool:
        """Wait, at most until the time is up."""
        return self._event.wait(seconds)


class Deadline:
    """A time limit from now, which a cancellation ends early."""

    def __init__(
        self,
        seconds: float,
        cancellation: Cancellation | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.cancellation = cancellation or Cancellation()
        self._clock = clock
        self._end = clock() + seconds

    @property
    def left(self) -> float:
        """Seconds that are left; 0 when the time is up."""
        return max(0.0, self._end - self._clock())

    @property
    def over(self) -> bool:
        """Whether the time is up or the episode cancelled."""
        return self.cancellation.cancelled or self._clock() >= self._end

    def check(self) -> None:
        """Raise if the episode was cancelled.

        Raises:
            CancelledError: the episode was cancelled.
        """
        if self.cancellation.cancelled:
            raise CancelledError

    def wait(self, seconds: float) -> None:
        """Wait so long, at most until the time is up.

        Raises:
            CancelledError: the episode was cancelled meanwhile.
        """
        _wait_in_slices(self.cancellation.wait, min(seconds, self.left))
        self.check()

    def wait_for(self, answer: Future[Any]) -> bool:
        """Wait for an answer, the end of the time or a cancellation; return whether there is an answer."""
        news = threading.Event()
        answer.add_done_callback(lambda _: news.set())
        with self.cancellation.waking(news.set):
            _wait_in_slices(news.wait, self.left)
        return answer.done()


def _wait_in_slices(wait: Callable[[float], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not wait(max(0.0, min(end - time.monotonic(), SLICE_SECONDS))) and time.monotonic() < end:
        pass
