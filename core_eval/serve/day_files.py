"""Logs by day: their names, which of them go first, and which copies are missing."""

from __future__ import annotations

import re
import time
from collections.abc import Collection
from pathlib import Path

from core_eval.log.connection import wal_of
from core_eval.serve.serve_file import DAY

DAY_FILE = re.compile(r"(\d{4}-\d\d-\d\d)\.(db|log)")


def day_of(moment: float) -> str:
    """Return the UTC day of a moment, s since the epoch."""
    return time.strftime("%Y-%m-%d", time.gmtime(moment))


def logs(folder: Path) -> list[Path]:
    """Return the logs below a folder, each `RIG/DAY.db`, oldest first."""
    found = [path for path in folder.rglob("*.db") if DAY_FILE.fullmatch(path.name)]
    return sorted(found, key=lambda path: (path.name, path))


def outdated(
    folder: Path, now: float, days: int | None, megabytes: int | None, kept: Collection[Path] = ()
) -> list[Path]:
    """Return the files that go: of days too long ago, then the oldest until the others are small enough.

    Those of today stay, and those whose log is among `kept`.
    """
    files = [path for path in folder.rglob("*") if DAY_FILE.fullmatch(path.name)]
    files.sort(key=lambda path: (path.name, path))
    sizes = {path: path.stat().st_size + size_of(wal_of(path)) for path in files}
    total = sum(sizes.values())
    first = day_of(now - days * DAY) if days is not None else ""
    going = []
    for path in files:
        day = path.name[:10]
        too_much = megabytes is not None and total > megabytes * 1_000_000
        if day >= day_of(now) or path.with_suffix(".db") in kept or not (day < first or too_much):
            continue
        total -= sizes[path]
        going.append(path)
    return going


def remove(path: Path) -> None:
    """Delete a file of a day, and what SQLite keeps beside it."""
    for one in (path, wal_of(path), path.with_name(f"{path.name}-shm")):
        one.unlink(missing_ok=True)


def to_copy(folder: Path, target: Path, now: float) -> list[tuple[Path, Path]]:
    """Return the logs of days that are over without a copy as new as they are, and the copies' names."""
    pairs = [(path, target / path.relative_to(folder)) for path in logs(folder)]
    return [
        (path, copy)
        for path, copy in pairs
        if path.name[:10] < day_of(now)
        and (not copy.is_file() or copy.stat().st_mtime < path.stat().st_mtime)
    ]


def size_of(path: Path) -> int:
    """Return the size of a file, bytes; 0 where there is none."""
    return path.stat().st_size if path.is_file() else 0
