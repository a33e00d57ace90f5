"""`pathrig score --db`: scores a log again."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from core_eval.cli.output import console, print_agents, print_json_stream
from core_eval.cli.progress import tracked
from core_eval.log import HARM_UNKNOWN, LogReader, RunLog
from core_eval.report.tables import scorings
from core_eval.report.tables.agents import episodes_table
from core_eval.score.aggregate import load_aggregate
from core_eval.score.rescore import Rescored, rescore
from core_eval.score.scoring import write_score
from core_eval.score.summary import episode_json, summary_json

ALL, DAMAGED = 0, 1
"""Exit statuses."""


def score_log(
    db: Path, *, write: bool, as_json: bool, aggregate: Path | None, parameters: Mapping[str, Any]
) -> int:
    """Score the episodes of a log again; return the exit status.

    Args:
        db: the log.
        write: whether the new scores are written to it.
        as_json: print JSON, not tables.
        aggregate: how agents are compared.
        parameters: of the scorer, in place of the runs' own.
    """
    compared = load_aggregate(aggregate)
    damaged: list[tuple[int, str]] = []
    with LogReader(db) as reader:
        count = len(reader.episode_ids())
    found = rescore(db, parameters, lambda episode, why: damaged.append((episode, why)))
    results = list(tracked("scoring", found, count))
    if write:
        with RunLog(db) as log:
            for again in results:
                if again.is_news:
                    write_score(log, again.episode.id, again.result)
    rows = [again.row for again in results]
    if as_json:
        print_json_stream(
            {
                "episodes": (
                    {
                        **episode_json(row),
                        "differing": None if again.differing is None else list(again.differing),
                    }
                    for row, again in zip(rows, results, strict=True)
                ),
                "summary": summary_json(rows, compared),
            }
        )
    else:
        shown = console()
        shown.print(episodes_table(rows))
        print_agents(shown, rows, aggregate)
        with LogReader(db) as reader:
            scored = scorings.logged(reader, (again.episode for again in results))
        scored += [
            scorings.Scored(replace(one.episode, scores=one.result.scores), scorings.NEW, one.result.judged)
            for one in results
            if one.is_news and not write
        ]
        table = scorings.scorings_table(scored)
        if table is not None:
            shown.print(table)
    _tell_of_scores(results)
    for line in scorings.notes(damaged):
        print(f"{line}; left out", file=sys.stderr)
    if damaged:
        print(f"pathrig: {len(results)} scored, {len(damaged)} left out as damaged", file=sys.stderr)
    return DAMAGED if damaged else ALL


def _tell_of_scores(results: Sequence[Rescored]) -> None:
    """Print on standard error what differs from the log, and what is not known of the harm."""

    def others(one: Rescored) -> list[tuple[str, str]]:
        return [(what, why) for what, why in one.result.findings.items() if what != HARM_UNKNOWN]

    differing = ((one.episode.id, ", ".join(one.differing or ())) for one in results)
    for line in (
        *scorings.notes(
            (episode, f"the log has other values of {names}" if names else None)
            for episode, names in differing
        ),
        *scorings.notes(
            (one.episode.id, scorings.harm_note(one.result.judged, one.result.note, one.episode.scorings))
            for one in results
        ),
        *scorings.notes((one.episode.id, f"{what}: {why}") for one in results for what, why in others(one)),
    ):
        print(line, file=sys.stderr)
