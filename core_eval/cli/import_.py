"""`pathrig import`: writes the traces of other programs to a log."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core_eval.cli.output import Json, UsageError, check_output, console, print_faults, print_json
from core_eval.cli.progress import tracked
from core_eval.cli.run_options import DEFAULT_DB

if TYPE_CHECKING:
    from configs.tasks_loader import ScoredTasks
    from core_eval.imports.importer import Importer
    from core_eval.imports.record import BrokenRecord, ImportedTrace
    from core_eval.log import RunLog

AUTO = "auto"
DONE, SKIPPED = 0, 1
"""Exit statuses."""
MOST_NAMED = 5
"""Broken records of a file that are named one by one."""
SAMPLE = 200
"""Traces of a file by which it is checked whether the tasks of --tasks are theirs."""


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
    opened = [_Opened.of(path, form, join, known) for path in files]
    with RunLog(out) as log:
        ids = _write(log, opened, known)
        _score(log, ids)
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


@dataclass
class _Opened:
    """A file whose traces can be read, and what has been read of it."""

    path: Path
    importer: Importer
    records: Iterator[ImportedTrace | BrokenRecord]
    overlap: float | None = None
    traces: int = 0
    broken: int = 0
    calls: int = 0
    scored: int = 0
    gold: int = 0
    renamed: int = 0
    rewards: list[float] = field(default_factory=list)
    statuses: Counter[tuple[str, str]] = field(default_factory=Counter)

    @classmethod
    def of(cls, path: Path, form: str, join: str | None, tasks: ScoredTasks | None) -> _Opened:
        """Open a file, and check whether its traces are of the tasks.

        Raises:
            UsageError: it cannot be read, or the tasks are others'.
        """
        from core_eval.imports.registry import IMPORTERS, importer_of, read_traces
        from core_eval.imports.source import ImportFileError, Source

        if form != AUTO and form not in IMPORTERS:
            raise UsageError(f"--format {form}: there are {', '.join((AUTO, *IMPORTERS))}")
        try:
            importer = importer_of(Source(path)) if form == AUTO else IMPORTERS[form]
            joins = importer.joins or ("task_id",)
            if join is not None and join not in joins:
                raise UsageError(f"--join {join}: {importer.name} has {', '.join(joins)}")
            records = read_traces(path, importer.name, join)
            first = list(islice(records, SAMPLE))
        except ImportFileError as error:
            raise UsageError(f"{path}: {error}") from None
        if not first:
            raise UsageError(f"{path}: no traces in it, as {importer.name} has them")
        share = None if tasks is None else _checked(path, first, tasks, join)
        return cls(path, importer, chain(first, records), share)

    def take(self, trace: ImportedTrace, scored: bool) -> None:
        """Count a trace."""
        self.traces += 1
        self.calls += len(trace.calls)
        self.scored += scored
        self.gold += trace.gold is not None
        self.statuses.update((call.status or "unknown", call.status_from) for call in trace.calls)
        if trace.reward is not None:
            self.rewards.append(trace.reward)

    def refuse(self, record: BrokenRecord) -> None:
        """Count a broken record, and name it on standard error."""
        self.broken += 1
        if self.broken <= MOST_NAMED:
            print(f"pathrig: {self.path}, record {record.number}: {record.why}; skipped", file=sys.stderr)

    def facts(self) -> dict[str, Any]:
        """Return what was read, JSON-ready."""
        return {
            "file": self.path.name,
            "format": self.importer.name,
            "traces": self.traces,
            "broken": self.broken,
            "calls": self.calls,
            "with_task": self.scored,
            "with_gold": self.gold,
            "with_reward": len(self.rewards),
            "overlap": self.overlap,
            "statuses": [
                {"status": status, "from": source, "calls": count}
                for (status, source), count in self.statuses.most_common()
            ],
        }


def _tasks(ref: str | None) -> ScoredTasks | None:
    if ref is None:
        return None
    from configs.suites import scored_suite

    found = scored_suite(ref)
    print_faults(found.malformed)
    return found


def _checked(
    path: Path, records: Iterable[ImportedTrace | BrokenRecord], tasks: ScoredTasks, join: str | None
) -> float | None:
    """Return the share of what the tasks name that occurs in their traces; None where they name nothing.

    Raises:
        UsageError: no join was named, and it is too small.
    """
    from core_eval.imports.join import automaton_entities, conversation, overlap
    from core_eval.imports.record import ImportedTrace
    from core_eval.imports.to_log import task_of

    traces = [one for one in records if isinstance(one, ImportedTrace)]
    pairs = [
        (conversation(trace), automaton_entities(known[1].automaton))
        for trace in traces
        if (known := task_of(trace, tasks)) is not None
    ]
    if traces and not pairs:
        names = ", ".join(sorted({str(trace.task) for trace in traces})[:MOST_NAMED])
        raise UsageError(f"{path}: its tasks ({names}) are not in --tasks; leave that out to import unscored")
    found = overlap(pairs)
    if join is None and not found.fits:
        raise UsageError(
            f"{path}: traces and --tasks do not fit: of what a task names, its traces have {found.share:.0%} "
            f"(mean of {found.traces}); where they are the same tasks, say --join task_id"
        )
    return found.share if found.traces else None


def _write(log: RunLog, opened: list[_Opened], tasks: ScoredTasks | None) -> list[int]:
    """Write the episodes of all files as one run; return their ids."""
    from core_eval.imports.fields import RecordError
    from core_eval.imports.record import BrokenRecord
    from core_eval.imports.to_log import add_trace, task_of
    from core_eval.run.provenance import host_info, package_versions

    config = {"cells": [], "imported": [file.path.name for file in opened]}
    run = log.begin_run(config, package_versions(), host_info())
    at, ids = time.time(), []
    for file in opened:
        source = {"file": file.path.name, "format": file.importer.name}
        for record in tracked(f"reading {file.path.name}", file.records, 0):
            if isinstance(record, BrokenRecord):
                file.refuse(record)
                continue
            try:
                ids.append(add_trace(log, run, record, source, tasks, at))
            except RecordError as error:
                file.refuse(BrokenRecord(record.number, str(error)))
                continue
            known = task_of(record, tasks)
            file.renamed += known is not None and known[0] != record.task
            file.take(record, known is not None or bool(record.logged))
        if file.broken > MOST_NAMED:
            print(f"pathrig: {file.path}: {file.broken} records skipped", file=sys.stderr)
    log.end_run(run)
    return ids


def _score(log: RunLog, ids: list[int]) -> None:
    from core_eval.log import LogReader
    from core_eval.score.scoring import score_episode, write_score

    with LogReader(log.path) as reader:
        for episode in tracked("scoring", ids, len(ids)):
            found = score_episode(reader, episode)
            if found is not None:
                write_score(log, episode, found)


def _print(opened: list[_Opened], out: Path, episodes: int) -> None:
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
