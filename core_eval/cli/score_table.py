"""Scores of traces as a table in an SQLite file, one row a trace."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from core_eval.cli.output import UsageError
from core_eval.text.json_text import json_text
from core_eval.traces.scored_traces import SCORE_NAMES

COLUMNS = ("trace", "task", *SCORE_NAMES, "bounds", "error")
APPLICATION = 0x50524C53
"""The file's `application_id`: only such a file is replaced, never a log."""


@contextmanager
def scores_table(path: Path) -> Iterator[Callable[[str], None]]:
    """Write a new file that replaces `path` when the context ends without an error.

    Yields:
        What takes scores as JSON lines, and writes them to its table `score`.

    Raises:
        UsageError: there is another file, or it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        if path.exists() and not _is_own(path):
            raise UsageError(f"--out {path}: is another file, not scores of before; name a new one")
        with closing(sqlite3.connect(temporary, isolation_level=None)) as connection:
            # A file that is cut off is never put in place, so it needs no journal.
            connection.execute("PRAGMA journal_mode = off")
            connection.execute("PRAGMA synchronous = off")
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"CREATE TABLE score ({', '.join(COLUMNS)})")
            connection.execute("BEGIN")
            insert = f"INSERT INTO score VALUES ({', '.join('?' * len(COLUMNS))})"
            yield lambda text: _insert(connection, insert, text)
            connection.execute("COMMIT")
            connection.execute("CREATE INDEX score_by_task ON score (task)")
        temporary.replace(path)
    except (OSError, sqlite3.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise UsageError(f"--out {path}: {reason or error}") from None
    finally:
        temporary.unlink(missing_ok=True)


def _insert(connection: sqlite3.Connection, insert: str, text: str) -> None:
    rows = []
    for line in text[:-1].split("\n"):
        record = json.loads(line)
        for key in ("trace", "task"):
            if isinstance(record[key], int) and record[key].bit_length() > 63:
                # SQLite's integers have 64 bits.
                record[key] = str(record[key])
        if "bounds" in record:
            record["bounds"] = json_text(record["bounds"])
        rows.append(tuple(map(record.get, COLUMNS)))
    connection.executemany(insert, rows)


def _is_own(path: Path) -> bool:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            return bool(connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION)
    except sqlite3.Error:
        return False
