"""Makes a complete copy of a log, also while a run writes to it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import mkstemp

from core_eval.log.connection import LogError, check_is_log, connect_to_read, wal_of


def backup(path: Path, target: Path) -> None:
    """Copy a log into one file, by SQLite's own backup; a log that `target` holds is replaced.

    The newest rows of a log stand in its -wal file, so a copy of the .db file alone misses them. The copy is
    a consistent snapshot with its own schema version, and gets its name when it is complete.

    Raises:
        LogError: either file cannot be used, or `target` is in use or no log.
    """
    _check_target(path, target)
    try:
        handle, name = mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise LogError(f"{target}: cannot be written: {error.strerror}") from None
    os.close(handle)
    part = Path(name)
    try:
        with ExitStack() as stack:
            source = stack.enter_context(closing(connect_to_read(path, stack, any_version=True)))
            copy = stack.enter_context(closing(sqlite3.connect(part)))
            # All pages in one step: a consistent snapshot, and no writer waits for it.
            source.backup(copy, pages=-1)
            (fault,) = copy.execute("PRAGMA quick_check(1)").fetchone()
            if fault != "ok":
                raise LogError(f"{path}: cannot be read as a log: {fault}")
        part.replace(target)
    except (OSError, sqlite3.Error) as error:
        raise LogError(f"{target}: cannot be written: {error}") from None
    finally:
        for left in (part, wal_of(part), part.with_name(f"{part.name}-shm")):
            left.unlink(missing_ok=True)


def _check_target(path: Path, target: Path) -> None:
    if not target.exists():
        return
    if path.exists() and target.samefile(path):
        raise LogError(f"{target}: is the log itself; name another file")
    try:
        with closing(sqlite3.connect(f"{target.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as there:
            check_is_log(there, target)
    except sqlite3.Error:
        raise LogError(f"{target}: is there, and is no log; name another file") from None
    if wal_of(target).exists():
        # SQLite would take its rows for the copy's.
        raise LogError(
            f"{target}: is in use as a log ({wal_of(target).name} is beside it); name another file"
        )
