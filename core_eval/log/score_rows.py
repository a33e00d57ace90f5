"""Writes scores into the log's tables."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping

from core_eval.log.connection import insert
from core_eval.log.json_text import to_json
from core_eval.log.rows import DeviationRow, FailureRow, HarmRow, PairRow

TABLES = ("score", "harm", "deviation", "failure", "compensating_pair")


def replace_scores(
    connection: sqlite3.Connection,
    episode: int,
    scores: Mapping[str, float | None],
    harm: Iterable[HarmRow],
    failures: Iterable[FailureRow],
    pairs: Iterable[PairRow],
    deviations: Iterable[DeviationRow] = (),
) -> None:
    """Replace an episode's scores, in a transaction."""
    for table in TABLES:
        connection.execute(f"DELETE FROM {table} WHERE episode_id = ?", (episode,))
    for metric, value in scores.items():
        number = None if value is None else float(value)
        insert(connection, "score", episode_id=episode, metric=metric, value=number)
    for row in harm:
        insert(
            connection,
            "harm",
            episode_id=episode,
            step_id=row.step_id,
            kind=row.kind,
            entity=row.entity,
            observed=_flag(row.observed),
            verdict=row.verdict,
            t_start=row.t_start,
            t_end=row.t_end,
            severity=row.severity,
            exposure=row.exposure,
            evidence=None if row.evidence is None else to_json(row.evidence),
            source=row.source,
            probability=row.probability,
            observed_probability=row.observed_probability,
            remedy=row.remedy,
            hidden_at_end=_flag(row.hidden_at_end),
            peak=row.peak,
            limit_value=row.limit_value,
            t_record=row.t_record,
            trend=row.trend,
            excess=_flag(row.excess),
            detection=row.detection,
            roc=None if row.roc is None else to_json(row.roc),
        )
    for deviation in deviations:
        insert(
            connection,
            "deviation",
            episode_id=episode,
            step_id=deviation.step_id,
            effect=_flag(deviation.effect),
            observed=_flag(deviation.observed),
            evidence=None if deviation.evidence is None else to_json(deviation.evidence),
        )
    for failure in failures:
        insert(connection, "failure", episode_id=episode, label=failure.label, level=failure.level)
    for pair in pairs:
        insert(
            connection,
            "compensating_pair",
            episode_id=episode,
            earlier_step_id=_step_id(connection, episode, pair.earlier),
            later_step_id=_step_id(connection, episode, pair.later),
            restored=to_json(pair.restored),
            stranded=pair.stranded,
        )


def _flag(value: bool | None) -> int | None:
    return None if value is None else int(value)


def _step_id(connection: sqlite3.Connection, episode: int, k: int) -> int:
    sql = "SELECT id FROM step WHERE episode_id = ? AND k = ?"
    return int(connection.execute(sql, (episode, k)).fetchone()[0])
