"""Follows the logs of a rig of `pathrig serve`: always the newest day's."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from core_eval.live.background import Background
from core_eval.live.history import History
from core_eval.live.log_follower import LogFollower
from core_eval.log import LogError, LogReader
from core_eval.serve.day_files import logs

LOOK_SECONDS = 2.0
CLOSE_SECONDS = 5.0


class DayFollower(Background):
    """Adds what the newest log of a rig's folder says to a history, while the context lasts."""

    def __init__(self, folder: Path, history: History, on_camera: Callable[[str], None]) -> None:
        super().__init__(f"days of {folder.name}", CLOSE_SECONDS)
        self.path: Path | None = None
        self._folder, self._history, self._on_camera = folder, history, on_camera

    def _work(self) -> None:
        with ExitStack() as stack:
            while True:
                newest = self._newest()
                if newest != self.path and newest is not None:
                    stack.close()
                    self.path = newest
                    stack.enter_context(LogFollower(newest, self._history, self._on_camera))
                if self._leaving.wait(LOOK_SECONDS):
                    return

    def _newest(self) -> Path | None:
        """Return the newest log with tables."""
        for path in reversed(logs(self._folder)):
            try:
                LogReader(path).connection.close()
            except LogError:
                continue
            return path
        return None
