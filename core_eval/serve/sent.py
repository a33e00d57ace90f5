"""What of a machine's logs a collector has acknowledged."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from core_eval.log import LogError
from core_eval.log.episode_copy import finished
from core_eval.serve.cut_work import WorkNote
from core_eval.serve.day_files import day_of

TABLES = (
    "CREATE TABLE IF NOT EXISTS sent (log TEXT, episode INTEGER, at REAL NOT NULL,"
    " PRIMARY KEY (log, episode)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS complete (log TEXT PRIMARY KEY, at REAL NOT NULL) STRICT, WITHOUT ROWID"
)


class Sent:
    """The list of acknowledged episodes, in `sent.db` of the folder of the logs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._list = sqlite3.connect(folder / "sent.db", isolation_level=None, timeout=10.0)
        self._list.executescript(TABLES)

    def __enter__(self) -> Sent:
        return self

    def __exit__(self, *_: object) -> None:
        self._list.close()

    def add(self, log: Path, episode: int) -> None:
        """Take note of an acknowledgement; it is on the disk when this returns."""
        self._list.execute(
            "INSERT OR IGNORE INTO sent VALUES (?, ?, ?)", (self._name(log), episode, time.time())
        )

    def left(self, log: Path) -> list[int]:
        """Return the finished episodes of a log that are not acknowledged; of a damaged one: none."""
        # A run may pass midnight, or wait to be gone on with.
        name = self._name(log)
        past = log.stem < day_of(time.time()) and WorkNote(log.parent).log() != log
        if self._list.execute("SELECT 1 FROM complete WHERE log = ?", (name,)).fetchone():
            # Nothing is added to it any more; a year's logs are not opened again each time.
            return []
        try:
            over = finished(log, of_the_past=past)
        except LogError:
            return []
        sql = "SELECT episode FROM sent WHERE log = ?"
        with closing(self._list.execute(sql, (name,))) as rows:
            known = {number for (number,) in rows}
        left = [number for number in over if number not in known]
        if past and not left:
            self._list.execute("INSERT OR IGNORE INTO complete VALUES (?, ?)", (name, time.time()))
            self._list.execute("DELETE FROM sent WHERE log = ?", (name,))
        return left

    def _name(self, log: Path) -> str:
        return log.relative_to(self._folder).as_posix()
