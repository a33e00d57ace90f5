"""Whose turn it is to read a connection: its own thread's, or that of a thread that waits for an answer.

A thread that reads its answer itself is spared the wake-up by a reader, which costs more than the reading.
The connection's own thread reads while nobody waits, and when whoever read before has turned to other work.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

PATIENCE = 0.01
"""Seconds that a connection may go unread after a waiting thread left it, before its own thread reads on."""


class LeaderFollower:
    """One thread at a time has the turn. Methods may be called from any thread."""

    def __init__(self) -> None:
        self._taken = threading.Lock()
        self._waiting: list[threading.Condition] = []
        self._left = 0
        self._asleep = False
        self._called = False
        self._alarm = threading.Event()

    @property
    def wanted(self) -> bool:
        """Whether threads wait that would read themselves."""
        return bool(self._waiting)

    def take(self) -> bool:
        """Take the turn if nobody has it; to be ended with `leave`."""
        return self._taken.acquire(blocking=False)

    def seize(self, timeout: float) -> bool:
        """Take the turn for good, once whoever has it leaves it; whether that was within `timeout` s."""
        return self._taken.acquire(timeout=timeout)

    def leave(self) -> None:
        """End the turn, and let the others that wait know."""
        self._left += 1
        self._taken.release()
        if self._asleep:
            self._alarm.set()
        self.nudge()

    def nudge(self) -> None:
        """Let those that wait look again."""
        for news in tuple(self._waiting):
            with news:
                news.notify_all()

    def wait(
        self,
        news: threading.Condition,
        done: Callable[[], bool],
        readable: Callable[[], bool],
        timeout: float | None,
    ) -> None:
        """Wait until `news` is notified, unless `done()`, or the turn is free and may be taken."""
        with news:
            # In the list first: who leaves the turn from now on notifies us.
            self._waiting.append(news)
            try:
                if not done() and (self._taken.locked() or not readable()):
                    news.wait(timeout)
            finally:
                self._waiting.remove(news)

    def call(self) -> None:
        """Have `stand_by` return now."""
        self._called = True
        self._alarm.set()

    def stand_by(self) -> None:
        """For the connection's own thread: wait until nobody has read for a while, or for `call`.

        While turns change quickly this looks once in `PATIENCE` seconds, so that those who take them need not
        wake anybody; it sleeps while somebody keeps the turn.
        """
        while True:
            left = self._left
            self._alarm.wait(PATIENCE)
            self._alarm.clear()
            if self._called:
                self._called = False
                return
            if self._left == left:
                if not self._taken.locked():
                    return
                self._asleep = True
                if self._left == left and not self._called:
                    self._alarm.wait()
                    self._alarm.clear()
                self._asleep = False
