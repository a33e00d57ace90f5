"""A file of another program's traces: opened, joined with its tasks, and what has been read of it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core_eval.cli.output import UsageError

if TYPE_CHECKING:
    from configs.tasks_loader import ScoredTasks
    from core_eval.imports.record import BrokenRecord, ImportedTrace
    from core_eval.imports.registry import Importer


AUTO = "auto"


MOST_NAMED = 5
"""Broken records of a file that are named one by one."""


SAMPLE = 200
"""Traces of a file by which it is checked whether the tasks of --tasks are theirs."""


@dataclass
class ImportedFile:
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
    def of(cls, path: Path, form: str, join: str | None, tasks: ScoredTasks | None) -> ImportedFile:
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
