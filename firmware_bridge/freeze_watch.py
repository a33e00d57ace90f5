"""Tells that this process stood still: stopped by a signal, swapped out, or suspended with its machine."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

FREEZE_SECONDS = 3.0
"""A gap of so long between two looks at the clock is a freeze."""
TICK_SECONDS = 0.25


def _now() -> float:
    # Linux stops the monotonic clock while the machine is suspended, and a rig goes on meanwhile.
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime(clock)


class FreezeWatch:
    """Looks at the clock all the time, on a thread of its own and whenever it is asked.

    Args:
        strikes: how often a stop keeper has stopped the machine since we stood still; its word counts too, as
            it may have missed us for longer than we noticed.
        on_freeze: called once for each freeze, with its seconds (0 where only the keeper noticed it), on the
            thread that finds it.
    """

    def __init__(self, strikes: Callable[[], int], on_freeze: Callable[[float], None]) -> None:
        self._strikes = strikes
        self._on_freeze = on_freeze
        self._lock = threading.Lock()
        self._seen = _now()
        self._struck = 0
        self._freezes = 0
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to look."""
        if self._thread is None:
            with self._lock:
                self._seen, self._struck = _now(), self._strikes()
            self._thread = threading.Thread(target=self._watch, name="freeze watch", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Look no more."""
        self._ended.set()

    def freezes(self) -> int:
        """How often we stood still so far; right also on a thread that runs on before the watch does."""
        if self._thread is None or self._ended.is_set():
            return self._freezes
        with self._lock:
            now = _now()
            gap, self._seen = now - self._seen, now
            struck = self._strikes()
            frozen = gap > FREEZE_SECONDS or struck > self._struck
            self._struck = struck
            self._freezes += frozen
            count = self._freezes
        if frozen:
            self._on_freeze(gap if gap > FREEZE_SECONDS else 0.0)
        return count

    def _watch(self) -> None:
        while not self._ended.wait(TICK_SECONDS):
            self.freezes()
