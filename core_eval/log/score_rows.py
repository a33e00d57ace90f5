"""Writes scores into the log's tables."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Mapping
from importlib.metadata import version

from core_eval.log.connection import insert
from core_eval.log.row_map import columns
from core_eval.log.rows import DeviationRow, FailureRow, HarmRow, PairRow, ScoringRow


def add_scoring(
    connection: sqlite3.Connection,
    episode: int,
    scores: Mapping[str, float | None],
    harm: Iterable[HarmRow],
    failures: Iterable[FailureRow] = (),
    pairs: Iterable[PairRow] = (),
    deviations: Iterable[DeviationRow] = (),
    *,
    judged: bool = True,
    note: str | None = None,
    reading: int = 1,
) -> None:
    """Add a scoring of an episode beside those that it has, in a transaction of the caller's.

    Args:
        connection: of the log.
        episode: its id.
        scores: metric to value; without the metrics of harm where it was not `judged`, so that those of an
            earlier scoring stay the latest ones.
        harm, failures, pairs, deviations: as for `RunLog.write_scores`.
        judged: whether the harm could be judged.
        note: what is not known of the harm, and why.
        reading: the reading of what is harmful by which it was scored.
    """
    made = ScoringRow(None, version("pathrig"), reading, time.time(), judged, note)
    scoring = insert(connection, "scoring", episode_id=episode, **columns(made))
    of = {"episode_id": episode, "scoring_id": scoring}
    connection.executemany(
        "INSERT INTO score (episode_id, metric, value, scoring_id) VALUES (?, ?, ?, ?)",
        [
            (episode, metric, None if value is None else float(value), scoring)
            for metric, value in scores.items()
        ],
    )
    sql = "SELECT k, id FROM step WHERE episode_id = ?"
    steps: dict[int | None, int] = dict(connection.execute(sql, (episode,)).fetchall())
    for table, rows in (("harm", harm), ("deviation", deviations)):
        for row in rows:
            insert(connection, table, **of, **columns(row) | {"step_id": steps.get(row.k, row.step_id)})
    for failure in failures:
        insert(connection, "failure", **of, **columns(failure))
    for pair in pairs:
        ends = {"earlier_step_id": steps[pair.earlier], "later_step_id": steps[pair.later]}
        insert(connection, "compensating_pair", **of, **ends, **columns(pair))
