"""The clock of waits and time-outs: a parameter, so that tests and simulations give their own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Protocol, TypeVar

T = TypeVar("T")


class Clock(Protocol):
    """Tells the time and waits by it, in seconds from any origin."""

    def now(self) -> float:
        """Return the time."""

    def wait(self, signal: threading.Event | threading.Condition, seconds: float) -> bool:
        """Wait for the signal at most so long, and return whether it came."""

    def get(self, queue: SimpleQueue[T], seconds: float) -> T:
        """Return the queue's next item. Raises queue.Empty after so long."""

    def sleep(self, seconds: float) -> None:
        """Wait so long."""


class SystemClock:
    """A clock of the operating system.

    Args:
        number: which one, for `time.clock_gettime`.
    """

    def __init__(self, number: int = time.CLOCK_MONOTONIC) -> None:
        self.now: Callable[[], float] = partial(time.clock_gettime, number)
        """Return the time."""

    def wait(self, signal: threading.Event | threading.Condition, seconds: float) -> bool:
        """Wait for the signal at most so long, and return whether it came."""
        return signal.wait(seconds)

    def get(self, queue: SimpleQueue[T], seconds: float) -> T:
        """Return the queue's next item. Raises queue.Empty after so long."""
        return queue.get(timeout=seconds)

    sleep = staticmethod(time.sleep)
    """Wait so long."""


MONOTONIC: Clock = SystemClock()
BOOTTIME: Clock = SystemClock(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
"""Linux stops the monotonic clock while the machine is suspended, and a rig goes on meanwhile."""
