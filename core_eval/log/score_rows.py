"""Writes scores into the log's tables."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Mapping
from importlib.metadata import version

from core_eval.log.connection import insert
from core_eval.log.json_text import plain_text, to_json
from core_eval.log.row_map import columns
from core_eval.log.rows import DeviationRow, FailureRow, HarmRow, PairRow

READING = 1
"""The reading of the metrics' definition by which this version scores."""


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
    """
    scoring = insert(
        connection,
        "scoring",
        episode_id=episode,
        version=version("pathrig"),
        reading=READING,
        created=time.time(),
        judged=int(judged),
        note=None if note is None else plain_text(note),
    )
    of = {"episode_id": episode, "scoring_id": scoring}
    for metric, value in scores.items():
        insert(connection, "score", **of, metric=metric, value=None if value is None else float(value))
    for table, rows in (("harm", harm), ("deviation", deviations), ("failure", failures)):
        for row in rows:
            insert(connection, table, **of, **columns(row))
    for pair in pairs:
        insert(
            connection,
            "compensating_pair",
            **of,
            earlier_step_id=_step_id(connection, episode, pair.earlier),
            later_step_id=_step_id(connection, episode, pair.later),
            restored=to_json(pair.restored),
            stranded=pair.stranded,
        )


def _step_id(connection: sqlite3.Connection, episode: int, k: int) -> int:
    sql = "SELECT id FROM step WHERE episode_id = ? AND k = ?"
    return int(connection.execute(sql, (episode, k)).fetchone()[0])
