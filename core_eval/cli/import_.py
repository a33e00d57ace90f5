"""`pathrig import`: writes the traces of other programs to a log."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core_eval.cli.imported_file import AUTO, MOST_NAMED, ImportedFile
from core_eval.cli.output import Json, check_output, console, print_faults, print_json
from core_eval.cli.progress import tracked
from core_eval.cli.run_options import DEFAULT_DB

if TYPE_CHECKING:
    from configs.tasks_loader import ScoredTasks
    from core_eval.log import RunLog

DONE, SKIPPED = 0, 1
"""Exit statuses."""
TOGETHER = 50
"""Episodes that are written in one transaction."""


def import_(
    files: Annotated[
        list[Path], typer.Argument(help="Files of traces, plain or in gzip.", metavar="FILE...")
    ],
    form: Annotated[
        str,
        typer.Option(
            "--format", help="auto, openai, tau2, inspect, otel, core, pathrig, or a package's own."
        ),
    ] = AUTO,
    out: Annotated[Path, typer.Option("-o", "--db", help="The log that gets the episodes.")] = DEFAULT_DB,
    tasks: Annotated[
        str | None, typer.Option(help="Score by these tasks: a file, YAML or CORE's JSON, or a suite.")
    ] = None,
    join: Annotated[
        str | None,
        typer.Option(
            help="How traces and tasks are joined, checked or not: task_id (the file's own key), or for tau2 "
            "reward_info (the actions that its judge looked for)."
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Write the traces of other programs to a log. Exit with 1 if some records could not be read."""
    from core_eval.log import RunLog

    check_output(out, "-o")
    known = _tasks(tasks)
    opened = [ImportedFile.of(path, form, join, known) for path in files]
    with RunLog(out) as log:
        run, ids = _write(log, opened, known)
        _score(log, ids)
        log.end_run(run)
    facts = {
        "db": str(out),
        "episodes": sum(file.traces for file in opened),
        "broken": sum(file.broken for file in opened),
        "files": [file.facts() for file in opened],
    }
    if json:
        print_json(facts)
    else:
        _print(opened, out, sum(file.traces for file in opened))
    return SKIPPED if facts["broken"] else DONE


def _tasks(ref: str | None) -> ScoredTasks | None:
    if ref is None:
        return None
    from configs.suites import scored_suite

    found = scored_suite(ref)
    print_faults(found.malformed)
    return found


def _write(log: RunLog, opened: list[ImportedFile], tasks: ScoredTasks | None) -> tuple[int, list[int]]:
    """Write the episodes of all files as one run, or what one that was stopped lacks.

    Returns:
        The run, and the ids of its episodes that are not scored.
    """
    from core_eval.imports.fields import RecordError
    from core_eval.imports.record import BrokenRecord
    from core_eval.imports.to_log import add_trace, task_of
    from core_eval.log.connection import transaction
    from core_eval.run.provenance import host_info, package_versions

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
    from core_eval.log import LogReader

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


def _score(log: RunLog, ids: list[int]) -> None:
    from core_eval.log import LogReader
    from core_eval.log.connection import transaction
    from core_eval.score.scoring import score_episode, write_score

    with LogReader(log.path) as reader:
        episodes = iter(tracked("scoring", ids, len(ids)))
        while part := list(islice(episodes, TOGETHER)):
            with log.lock, transaction(log.connection):
                for episode in part:
                    found = score_episode(reader, episode)
                    if found is not None:
                        write_score(log, episode, found)


def _print(opened: list[ImportedFile], out: Path, episodes: int) -> None:
    from core_eval.report.tables.fitted_table import Table

    shown = console()
    numbers = ("traces", "skipped", "calls", "task", "gold", "reward")
    table = Table("file", "format", *numbers, numbers=numbers)
    statuses = Table("status", "told by", "calls", numbers=("calls",))
    told: Counter[tuple[str, str]] = Counter()
    for file in opened:
        counts = (file.traces, file.broken, file.calls, file.scored, file.gold, len(file.rewards))
        table.add_row(file.path.name, file.importer.name, *map(str, counts))
        told.update(file.statuses)
    for (status, source), count in told.most_common():
        statuses.add_row(status, source, str(count))
    shown.print(table)
    if told:
        shown.print(statuses)
    for file in opened:
        if file.renamed:
            print(f"{file.path.name}: {file.renamed} traces name their task with or without an s")
    unscored = episodes - sum(file.scored for file in opened)
    if unscored:
        print(f"{unscored} of {episodes} episodes have no task to be scored by: calls and statuses only")
    print(f"{episodes} episodes in {out}; see `pathrig show {out}`")
