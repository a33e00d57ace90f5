"""Scores traces one by one, and tells what becomes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

from core_eval.traces.scored_traces import score_traces
from core_eval.traces.trace_file import read_traces

if TYPE_CHECKING:
    from configs.tasks_loader import ScoredTasks
    from core_eval.report.tables.traces import TraceSummary


class Part(NamedTuple):
    """The scores of one trace or more.

    Attributes:
        text: the scores as JSON lines.
        scored, failed: how many traces there were, and how many lines that could not be scored.
        summary: the figures of traces that are in no other summary, where they are asked for.
    """

    text: str
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
    """

    tasks: ScoredTasks
    file: str
    parameters: Mapping[str, Any]
    summary: Callable[[], TraceSummary] | None

    def scored(self, lines: Iterable[bytes], first: int, summary: TraceSummary | None) -> Iterator[Part]:
        """Score lines, the first of which has that number, one by one; add them to the summary."""
        traces = read_traces(lines, file=self.file, first=first)
        for one in score_traces(traces, self.tasks.find, identified=summary is not None, **self.parameters):
            failed = "error" in one.scores
            if summary is not None:
                summary.add(one)
            yield Part(one.line + "\n", not failed, failed)

    def part(self, block: bytes, first: int) -> Part:
        """Score the lines of a part of a file, the first of which has that number."""
        summary = None if self.summary is None else self.summary()
        parts = list(self.scored(BytesIO(block), first, summary))
        failed = sum(one.failed for one in parts)
        return Part("".join([one.text for one in parts]), len(parts) - failed, failed, summary)
