"""CSV: one file per table, by the standard library's writer (RFC 4180).

Text stays as it is in the log. A program for spreadsheets may take a cell that starts with `=`, `+`, `-` or
`@` for a formula: import the columns as text there.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from core_eval.export.tables import TABLES
from core_eval.log import LogReader, Tracked


def write(log: LogReader, ids: Sequence[int], folder: Path, tracked: Tracked) -> None:
    """Write a file per table, with a row of headings."""
    with ExitStack() as files:
        writers = {}
        for table in TABLES:
            path = folder / f"{table.name}.csv"
            file = files.enter_context(path.open("w", encoding="utf-8", errors="replace", newline=""))
            writers[table.name] = csv.writer(file)
            writers[table.name].writerow(table.columns)
        for episode_id in tracked("writing episodes", ids, len(ids)):
            episode = log.episode(episode_id)
            for table in TABLES:
                writers[table.name].writerows(table.rows(log, episode))
