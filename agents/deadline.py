"""Deadlines of answers, and their cancellation."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, InvalidStateError, wait
from contextlib import suppress
from typing import Any

SLICE_SECONDS = 0.2
"""Longest single wait, s: a signal that arrives just before a wait is handled only after it."""


class CancelledError(Exception):
    """The answer is no longer needed: a person's stop, a signal, or the end of the episode."""


class Cancellation:
    """Signals an agent, on any thread, that its episode is over; it is never reset.

    Attributes:
        cancelled: whether the episode is over.
        over: done once it is.
    """

    def __init__(self) -> None:
        self.cancelled = False
        self.over: Future[None] = Future()

    def cancel(self) -> None:
        """End the episode, and wake all that wait in it. From any thread; never blocks."""
        self.cancelled = True
        with suppress(InvalidStateError):
            self.over.set_result(None)


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
        Deadline(min(seconds, self.left), self.cancellation).wait_for(self.cancellation.over)
        self.check()

    def wait_for(self, answer: Future[Any]) -> bool:
        """Wait for an answer, the end of the time or a cancellation; return whether there is an answer."""
        first, end = (answer, self.cancellation.over), time.monotonic() + self.left
        while not wait(first, max(0.0, min(end - time.monotonic(), SLICE_SECONDS)), FIRST_COMPLETED).done:
            if time.monotonic() >= end:
                break
        return answer.done()
