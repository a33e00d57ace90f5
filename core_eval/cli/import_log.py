"""Imported traces on their way into a log: written as one run, and scored."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from itertools import islice
from typing import Any

from configs.tasks_loader import ScoredTasks
from core_eval.cli.imported_file import MOST_NAMED, ImportedFile
from core_eval.cli.progress import tracked
from core_eval.imports.fields import RecordError
from core_eval.imports.record import BrokenRecord
from core_eval.imports.to_log import add_trace, task_of
from core_eval.log import LogReader, RunLog
from core_eval.log.connection import transaction
from core_eval.run.provenance import host_info, package_versions
from core_eval.score.scoring import score_episode, write_score

TOGETHER = 50
"""Episodes that are written in one transaction."""


def write_imported(
    log: RunLog, opened: list[ImportedFile], tasks: ScoredTasks | None
) -> tuple[int, list[int]]:
    """Write the episodes of all files as one run, or what one that was stopped lacks.

    Returns:
        The run, and the ids of its episodes that are not scored.
    """
    config = {"cells": [], "imported": [file.path.name for file in opened]}
    run, written, ids = _begun(log, config)
    if run is None:
        run = log.begin_run(config, package_versions(), host_info())
    at = time.time()
    for file in opened:
        source = {"file": file.path.name, "format": file.importer.name}
        records = iter(tracked(f"reading {file.path.name}", file.records, 0))
        while part := list(islice(records, TOGETHER)):
            with log.lock, transaction(log.connection):
                for record in part:
                    if isinstance(record, BrokenRecord):
                        file.refuse(record)
                        continue
                    try:
                        if (file.path.name, record.number) not in written:
                            ids.append(add_trace(log, run, record, source, tasks, at))
                    except RecordError as error:
                        file.refuse(BrokenRecord(record.number, str(error)))
                        continue
                    known = task_of(record, tasks)
                    file.renamed += known is not None and known[0] != record.task
                    file.take(record, known is not None or bool(record.logged))
        if file.broken > MOST_NAMED:
            print(f"pathrig: {file.path}: {file.broken} records skipped", file=sys.stderr)
    return run, ids


def _begun(log: RunLog, config: Mapping[str, Any]) -> tuple[int | None, set[tuple[str, int]], list[int]]:
    """Return the import of these files that was stopped: its run, its records, and its unscored episodes."""
    with LogReader(log.path) as reader:
        runs = [run.id for run in reader.unfinished_runs() if run.config == config]
    if not runs:
        return None, set(), []
    sql = (
        "SELECT id, imported ->> 'file', imported ->> 'record', EXISTS"
        " (SELECT 1 FROM scoring WHERE episode_id = episode.id) FROM episode WHERE run_id = ?"
    )
    rows = log.connection.execute(sql, (runs[-1],)).fetchall()
    print(f"pathrig: goes on with run {runs[-1]}, which has {len(rows)} episodes", file=sys.stderr)
    return runs[-1], {(file, record) for _, file, record, _ in rows}, [row[0] for row in rows if not row[3]]


def score_imported(log: RunLog, ids: list[int]) -> None:
    """Score imported episodes."""
    with LogReader(log.path) as reader:
        episodes = iter(tracked("scoring", ids, len(ids)))
        while part := list(islice(episodes, TOGETHER)):
            with log.lock, transaction(log.connection):
                for episode in part:
                    found = score_episode(reader, episode)
                    if found is not None:
                        write_score(log, episode, found)
