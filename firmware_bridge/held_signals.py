"""Signals on the main thread, held back while an exception in a handler would do harm."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import threading
from types import FrameType
from typing import Any

HELD = (_signal.SIGINT, _signal.SIGTERM)
# The module below `signal`: its wrappers look every handler up in an enumeration, which costs a call 40 us.


class HeldSignals:
    """Context that keeps SIGINT and SIGTERM back, save while `open` is true; no effect on other threads.

    A handler that raises, as Ctrl-C does, would tear a packet that is being read, or a message that is being
    logged. What came meanwhile reaches its own handler at the end.
    """

    __slots__ = ("_before", "_came", "open")

    def __init__(self) -> None:
        self.open = False
        self._came: list[int] | None = None
        self._before: dict[int, Any] | None = None

    def __enter__(self) -> HeldSignals:
        if threading.get_ident() == threading.main_thread().ident:
            self._before = {}
            for number in HELD:
                before = _signal.getsignal(number)
                if callable(before):
                    self._before[number] = before
                    _signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is None:
            return
        for number, handler in self._before.items():
            _signal.signal(number, handler)
        for number in self._came or ():
            self._before[number](number, None)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        assert self._before is not None
        if self.open:
            # If it raises, we are on our way out.
            self.open = False
            self._before[number](number, frame)
            self.open = True
        else:
            self._came = [*(self._came or ()), number]
