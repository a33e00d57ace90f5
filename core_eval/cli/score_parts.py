"""Scores traces, and tells what becomes of them part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from core_eval.traces.scored_traces import Scored, score_traces
from core_eval.traces.trace_file import read_traces

if TYPE_CHECKING:
    from configs.tasks_loader import ScoredTasks
    from core_eval.cli.file_parts import FilePart
    from core_eval.report.tables.traces import TraceSummary

MOST_TRACES = 32
"""That are scored before their scores are written."""


class Part(NamedTuple):
    """The scores of some traces.

    Attributes:
        text: the scores as JSON lines; empty where they are not asked for.
        rows: the scores as rows of a table, where these are asked for.
        scored, failed: how many traces there were, and how many lines that could not be scored.
        summary: the figures of traces that are in no other summary, where they are asked for.
    """

    text: str
    rows: list[tuple[Any, ...]]
    scored: int
    failed: int
    summary: TraceSummary | None = None


@dataclass(frozen=True)
class Job:
    """What is scored, and how.

    Attributes:
        tasks: those by which traces are scored.
        file: the name of the traces, for faults.
        parameters: of `score_traces`.
        summary: makes an empty summary; None: figures are not asked for.
        lines: whether scores are asked for as JSON lines.
        row: makes a row of a table of scores; None: rows are not asked for.
    """

    tasks: ScoredTasks
    file: str
    parameters: Mapping[str, Any]
    summary: Callable[[], TraceSummary] | None
    lines: bool = True
    row: Callable[[Scored], tuple[Any, ...]] | None = None

    def scored(self, lines: Iterable[bytes], first: int, summary: TraceSummary | None) -> Iterator[Part]:
        """Score lines, the first of which has that number, some at a time; add them to the summary."""
        traces = read_traces(lines, file=self.file, first=first)
        found = score_traces(traces, self.tasks.find, identified=summary is not None, **self.parameters)
        while some := list(islice(found, MOST_TRACES)):
            if summary is not None:
                summary.add(some)
            text = "\n".join([*[one.line for one in some], ""]) if self.lines else ""
            rows = [] if self.row is None else list(map(self.row, some))
            failed = sum(["error" in one.scores for one in some])
            yield Part(text, rows, len(some) - failed, failed)

    def part(self, part: FilePart) -> Part:
        """Score a part of a file."""
        summary = None if self.summary is None else self.summary()
        found = self.scored(part.lines(), part.first, summary)
        texts, rows, scored, failed, _ = zip(Part("", [], 0, 0), *found, strict=True)
        return Part("".join(texts), list(chain.from_iterable(rows)), sum(scored), sum(failed), summary)
