"""Signals on the main thread, held back while an exception in a handler would do harm."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import threading
from types import FrameType
from typing import Any

HELD = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP)
# The module below `signal`: its wrappers look every handler up in an enumeration, which costs a call 40 us.


class DeferredSignals:
    """Context that keeps SIGINT, SIGTERM and SIGHUP back, save while `open` is true; only on the main thread.

    A handler that raises, as Ctrl-C does, would tear a packet that is being read or written, a message that
    is being logged, or the taking of a lock. What came meanwhile reaches its own handler at the end, or when
    `deliver` is called. One within another is that other one, so that `open` lets a signal through however
    deep it is set.
    """

    __slots__ = ("_before", "_came", "_depth", "_over", "open")

    _current: DeferredSignals | None = None

    _came: list[int] | None
    _before: dict[int, Any] | None
    _depth: int
    _over: bool
    open: bool

    def __new__(cls) -> DeferredSignals:
        """A new one, or the one that holds them already."""
        current = cls._current
        if current is not None and _on_main_thread():
            return current
        held = super().__new__(cls)
        held.open = held._over = False
        held._depth = 0
        held._came = held._before = None
        return held

    @property
    def holding(self) -> bool:
        """Whether there are signals that this one keeps back."""
        return bool(self._before)

    def __enter__(self) -> DeferredSignals:
        self._depth += 1
        if self._depth == 1 and _on_main_thread():
            self._before = {}
            try:
                for number in HELD:
                    before = _signal.getsignal(number)
                    if callable(before):
                        self._before[number] = before
                        _signal.signal(number, self._handle)
            except BaseException:
                # The one signal struck while the other was held already.
                self._over = True
                raise
            DeferredSignals._current = self
        return self

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth or self._before is None:
            return
        DeferredSignals._current = None
        # From here on our handler only hands on: a signal may strike before all handlers are back in place.
        self._over = True
        for number, handler in self._before.items():
            _signal.signal(number, handler)
        self.deliver()

    def deliver(self) -> None:
        """Let what came strike now."""
        came, self._came = self._came, None
        if came and self._before is not None:
            self.open = False
            for number in came:
                self._before[number](number, None)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        assert self._before is not None
        if self._over:
            self._before[number](number, frame)
        elif self.open:
            # If it raises, we are on our way out.
            self.open = False
            self._before[number](number, frame)
            self.open = True
        else:
            self._came = [*(self._came or ()), number]


def _on_main_thread() -> bool:
    return threading.get_ident() == threading.main_thread().ident
