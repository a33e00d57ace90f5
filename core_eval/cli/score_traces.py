"""`pathrig score --traces`: trace by trace, as lines, as a table of SQLite or as one JSON."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from configs.suites import scored_suite
from core_eval.cli.file_parts import parts_of_file
from core_eval.cli.output import UsageError, console, print_faults, replaced_file, warn_of_cycles
from core_eval.cli.progress import progress
from core_eval.cli.score_parts import Job, Part
from core_eval.cli.workers import Workers, in_order
from core_eval.report.tables.traces import TraceSummary
from core_eval.score.aggregate import load_aggregate
from core_eval.text.foreign_text import ForeignTextError, Lines, open_lines
from core_eval.text.json_text import json_text

LINES_PER_UPDATE = 1000


DONE, NOT_ALL_SCORED = 0, 1
"""Exit statuses."""


TABLES = frozenset({".db", ".sqlite", ".sqlite3"})
"""Suffixes of --out for which scores are a table of SQLite."""


def score_traces(
    tasks: str,
    traces: Path,
    out: Path | None,
    parameters: Mapping[str, Any],
    *,
    as_json: bool,
    aggregate: Path | None,
    workers: Workers,
) -> int:
    """Score trace by trace; write the scores as lines to `out` or standard output, or all as one JSON."""
    if aggregate is not None and out is None and not as_json:
        raise UsageError(
            "--aggregate compares means, which are not printed as lines: give --json or --out FILE"
        )
    if tasks == str(traces) == "-":
        raise UsageError("--tasks and --traces cannot both be standard input")
    # Without a summary, any number of traces is streamed in constant memory.
    make = None if out is None and not as_json else partial(TraceSummary, load_aggregate(aggregate))
    summary = None if make is None else make()
    scored = failed = 0
    known = scored_suite(tasks)
    print_faults(known.malformed)
    warn_of_cycles(task.automaton for task in known.tasks.values())
    job = Job(known, str(traces), parameters, make)
    with ExitStack() as stack:
        write: Callable[[str], object] = sys.stdout.write
        insert: Callable[[list[tuple[Any, ...]]], object] | None = None
        if out is not None and out.suffix.lower() in TABLES:
            from core_eval.cli.score_table import score_row, scores_table

            insert = stack.enter_context(scores_table(out))
            job = replace(job, lines=as_json, row=score_row)
        elif out is not None:
            write = stack.enter_context(replaced_file(out, "--out", inputs=[Path(tasks), traces])).write
        if workers.several:
            parts = _parts(job, workers, traces, _progress_of_parts(stack, traces))
        else:
            parts = job.scored(stack.enter_context(opened(traces)), 1, summary)
        if as_json:
            sys.stdout.write('{"traces": [')
        for part in parts:
            if as_json and part.text:
                before = ",\n" if scored + failed else "\n"
                sys.stdout.write(before + part.text[:-1].replace("\n", ",\n"))
            if insert is not None:
                insert(part.rows)
            elif out is not None or not as_json:
                write(part.text)
            scored += part.scored
            failed += part.failed
            if summary is not None and part.summary is not None:
                summary.merge(part.summary)
    if summary is not None and as_json:
        from core_eval.report.tables.trace_spread import summary_json

        sys.stdout.write(f'\n],\n"summary": {json_text(summary_json(summary), indent=2)}}}\n')
    elif summary is not None:
        _print_summary(summary, aggregate is not None)
    if failed:
        print(
            f"pathrig: {scored} scored, {failed} could not be scored; see `error` in their lines",
            file=sys.stderr,
        )
    return NOT_ALL_SCORED if failed else DONE


def _parts(job: Job, workers: Workers, traces: Path, on_bytes: Callable[[int], None]) -> Iterator[Part]:
    found = parts_of_file(traces, carried=workers.elsewhere)
    for lines, part in in_order(workers, job.part, found):
        on_bytes(lines.size)
        yield part


def _print_summary(summary: TraceSummary, gated: bool) -> None:
    from core_eval.score.episodes import INEXACT_NOTE

    shown = console()
    shown.print(summary.table(gated=gated))
    if summary.inexact:
        shown.print(INEXACT_NOTE)


@contextmanager
def opened(path: Path) -> Iterator[Iterable[bytes]]:
    """Open the lines of the traces, with a progress bar on a terminal.

    Raises:
        UsageError: the file cannot be read.
    """
    try:
        with ExitStack() as stack:
            found = stack.enter_context(open_lines(path))
            yield _progress(stack, found)
    except ForeignTextError as error:
        raise UsageError(f"--traces {path}: {error}") from None


def _progress_of_parts(stack: ExitStack, traces: Path) -> Callable[[int], None]:
    size = traces.stat().st_size if traces.is_file() else 0
    advance = stack.enter_context(progress("scoring, KiB", max(1, size // 1024)))
    return lambda done: advance(done // 1024)


def _progress(stack: ExitStack, found: Lines) -> Iterable[bytes]:
    if found.size is None:
        return found.lines
    kib = max(1, found.size // 1024)
    advance = stack.enter_context(progress("scoring, KiB", kib))

    def counted() -> Iterator[bytes]:
        done = 0
        for number, line in enumerate(found.lines):
            if number % LINES_PER_UPDATE == 0:
                position = found.position() // 1024
                advance(position - done)
                done = position
            yield line

    return counted()
