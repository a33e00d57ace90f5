"""Scores of traces as a table in an SQLite file, one row a trace."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from core_eval.cli.output import UsageError
from core_eval.text.json_text import json_text, plain_text
from core_eval.traces.scored_traces import SCORE_NAMES, Scored

COLUMNS = ("trace", "task", *SCORE_NAMES, "bounds", "error")
Row = tuple[Any, ...]
APPLICATION = 0x50524C53
"""The file's `application_id`: only such a file is replaced, never a log."""


@contextmanager
def scores_table(path: Path) -> Iterator[Callable[[Sequence[Row]], object]]:
    """Write a new file that replaces `path` when the context ends without an error.

    Yields:
        What writes rows of `score_row` to its table `score`.

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
            yield lambda rows: connection.executemany(insert, rows)
            connection.execute("COMMIT")
            connection.execute("CREATE INDEX score_by_task ON score (task)")
        temporary.replace(path)
    except (OSError, sqlite3.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise UsageError(f"--out {path}: {reason or error}") from None
    finally:
        temporary.unlink(missing_ok=True)


def score_row(one: Scored) -> Row:
    """Return the row of a trace: its values under `COLUMNS`."""
    scores = one.scores
    bounds = json_text(scores["bounds"]) if "bounds" in scores else None
    values = map(scores.get, SCORE_NAMES)
    return _cell(one.trace.id), _cell(one.trace.task), *values, bounds, scores.get("error")


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return plain_text(value)
    # SQLite's integers have 64 bits.
    return str(value) if isinstance(value, int) and value.bit_length() > 63 else value


def _is_own(path: Path) -> bool:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            return bool(connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION)
    except sqlite3.Error:
        return False
