"""Work on a thread of its own while a context lasts."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import Self


class Background(ABC):
    """Runs `_work` on a thread while the context lasts; it ends soon after `_leaving` is set.

    Args:
        name: of the thread.
        close_seconds: how long the end waits for it, s; None: as long as it takes.
    """

    def __init__(self, name: str, close_seconds: float | None = None) -> None:
        self._leaving = threading.Event()
        self._close_seconds = close_seconds
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._leaving.set()
        self._thread.join(self._close_seconds)

    @abstractmethod
    def _work(self) -> None: ...
