"""Detects that this process stood still: stopped by a signal, swapped out, or suspended with its machine."""

from __future__ import annotations

import threading
from collections.abc import Callable

from firmware_bridge.clock import BOOTTIME, Clock
from firmware_bridge.link import Keeper

FREEZE_SECONDS = 3.0
"""Shortest gap between two readings of the clock that is a freeze."""
TICK_SECONDS = 0.25


class FreezeWatch:
    """Reads the clock periodically on a thread of its own, and whenever it is asked.

    Args:
        keeper: the link's; its strikes are freezes too, as it may measure a longer gap than this process.
        on_freeze: called once for each freeze, with its seconds (0 if only the keeper noticed it), on the
            thread that finds it.
        clock: one that goes on while the machine is suspended.
    """

    def __init__(
        self, keeper: Keeper | None, on_freeze: Callable[[float], None], clock: Clock = BOOTTIME
    ) -> None:
        self._clock = clock
        self._keeper = keeper
        self._on_freeze = on_freeze
        self._lock = threading.Lock()
        self._seen = self._clock.now()
        self._strikes = 0
        self._freezes = 0
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread, once."""
        if self._thread is None:
            with self._lock:
                self._seen = self._clock.now()
                if self._keeper is not None:
                    self._strikes = self._keeper.strikes
            self._thread = threading.Thread(target=self._watch, name="freeze watch", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._ended.set()

    def freezes(self) -> int:
        """Return the number of freezes so far, including one that the thread has not noticed yet."""
        if self._thread is None or self._ended.is_set():
            return self._freezes
        with self._lock:
            now = self._clock.now()
            gap, self._seen = now - self._seen, now
            frozen = gap > FREEZE_SECONDS
            if self._keeper is not None:
                strikes, self._strikes = self._strikes, self._keeper.strikes
                frozen |= self._strikes > strikes
            self._freezes += frozen
            count = self._freezes
        if frozen:
            self._on_freeze(gap if gap > FREEZE_SECONDS else 0.0)
        return count

    def _watch(self) -> None:
        while not self._clock.wait(self._ended, TICK_SECONDS):
            self.freezes()
