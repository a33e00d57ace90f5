"""`pathrig score`: scores traces from any source, or rescores a log."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core_eval.cli.output import (
    AggregateOption,
    UsageError,
    console,
    print_faults,
    replaced_file,
    warn_of_cycles,
)
from core_eval.cli.progress import progress

if TYPE_CHECKING:
    from configs.tasks_loader import ScoredTasks
    from core_eval.report.tables.traces import TraceSummary
    from core_eval.text.foreign_text import Lines

LINES_PER_UPDATE = 1000
DONE, NOT_ALL_SCORED = 0, 1
BETA, LAM = 0.5, 0.5
TABLES = frozenset({".db", ".sqlite", ".sqlite3"})
"""Suffixes of --out for which scores are a table of SQLite."""


def score(
    tasks: Annotated[
        str | None,
        typer.Option(
            help="Task file (YAML or CORE's JSON; - is standard input), or what else names tasks: core, a "
            "world, a folder, a task."
        ),
    ] = None,
    traces: Annotated[Path | None, typer.Option(help="Traces, JSON lines; - is standard input.")] = None,
    rules: Annotated[
        Path | None,
        typer.Option(help="Rule file, YAML: print how traces or log violate it, in place of scores."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="With --traces: write the scores to this file; .db: as a table of SQLite."),
    ] = None,
    db: Annotated[Path | None, typer.Option(help="Rescore this log.")] = None,
    write: Annotated[
        bool, typer.Option("--write", help="With --db: write the new scores to the log.")
    ] = False,
    beta: Annotated[
        float | None,
        typer.Option(
            min=0.0, max=1.0, help="Base of prefix criticality; default: 0.5, or with --db the run's value."
        ),
    ] = None,
    lam: Annotated[
        float | None,
        typer.Option(
            min=0.0, max=1.0, help="Weight of PC in PC-KTC; default: 0.5, or with --db the run's value."
        ),
    ] = None,
    faults_are_harm: Annotated[
        bool, typer.Option("--faults-are-harm", help="Count faults of rig and link as harmful calls.")
    ] = False,
    reading: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=2,
            help="What is harmful: 1, all that is refused or undefined; 2, not what only reads or changes "
            "nothing. Default: as each task has it.",
        ),
    ] = None,
    jobs: Annotated[
        int, typer.Option(min=1, help="With --traces: score ranges of the file in so many processes.")
    ] = 1,
    aggregate: AggregateOption = None,
    against: Annotated[
        str | None,
        typer.Option(
            help="With --db: print how well each score, and rule of --rules, tells episodes that failed by "
            "this metric (below 1), such as reward or goal_met.",
            metavar="METRIC",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print all scores and a summary as one JSON.")] = False,
) -> int:
    """Score traces from any source, or rescore a log. Exit with 1 if some traces could not be scored."""
    if rules is not None or against is not None:
        given = {"--tasks": tasks, "--out": out, "--beta": beta, "--lam": lam, "--reading": reading}
        flags = {"--write": write or None, "--faults-are-harm": faults_are_harm or None}
        others = {**given, **flags, "--aggregate": aggregate}
        if against is not None:
            return _score_against(against, rules, db, {**others, "--traces": traces}, as_json=json)
        assert rules is not None
        return _check_rules(rules, traces, db, others, as_json=json)
    for option, value in (("--beta", beta), ("--lam", lam)):
        if value is not None and math.isnan(value):
            raise UsageError(f"{option} {value}: must be a number from 0 to 1")
    if db is not None:
        for option, path in (("--tasks", tasks), ("--traces", traces), ("--out", out)):
            if path is not None:
                raise UsageError(f"{option} does not go with --db: a log contains its tasks and traces")
        asked: dict[str, Any] = {
            "beta": beta,
            "lam": lam,
            "faults_are_harm": faults_are_harm or None,
            "reading": reading,
        }
        parameters = {name: value for name, value in asked.items() if value is not None}
        if write and parameters.keys() - {"reading"}:
            raise UsageError(
                "--write uses the runs' own parameters: leave out --beta, --lam and --faults-are-harm"
            )
        from core_eval.cli.rescore import score_log

        return score_log(db, write=write, as_json=json, aggregate=aggregate, parameters=parameters)
    if tasks is None or traces is None:
        raise UsageError("give --tasks FILE and --traces FILE.jsonl, or --db FILE")
    if write:
        raise UsageError("--write needs --db: it writes new scores to a log")
    parameters = {
        "beta": BETA if beta is None else beta,
        "lam": LAM if lam is None else lam,
        "faults_are_harm": faults_are_harm,
        "reading": reading,
    }
    return _score_traces(tasks, traces, out, parameters, as_json=json, aggregate=aggregate, jobs=jobs)


def _score_against(
    against: str, rules: Path | None, db: Path | None, others: Mapping[str, Any], *, as_json: bool
) -> int:
    """Print how well scores and rules tell the failed episodes of a log."""
    from core_eval.cli.score_against import score_against
    from core_eval.rules.rule_file import load_rules

    _refuse(others, "--against, which computes no scores")
    if db is None:
        raise UsageError("--against needs --db LOG")
    found = () if rules is None else load_rules(rules).rules
    return score_against(db, against, found, as_json=as_json)


def _refuse(others: Mapping[str, Any], option: str) -> None:
    for other, value in others.items():
        if value is not None:
            raise UsageError(f"{other} does not go with {option}")


def _check_rules(
    rules: Path, traces: Path | None, db: Path | None, others: Mapping[str, Any], *, as_json: bool
) -> int:
    """Print how the traces, or the episodes of a log, violate rules."""
    from core_eval.cli.rule_check import check_log, check_traces
    from core_eval.rules.rule_file import load_rules

    _refuse(others, "--rules, which computes no scores")
    if (traces is None) == (db is None):
        raise UsageError("--rules needs one of --traces FILE.jsonl and --db FILE")
    file = load_rules(rules)
    if db is not None:
        return check_log(file, db, as_json=as_json)
    assert traces is not None
    with _opened(traces) as lines:
        return check_traces(file, lines, str(traces), as_json=as_json)


def _score_traces(
    tasks: str,
    traces: Path,
    out: Path | None,
    parameters: Mapping[str, Any],
    *,
    as_json: bool,
    aggregate: Path | None,
    jobs: int,
) -> int:
    """Score trace by trace; write the scores as lines to `out` or standard output, or all as one JSON."""
    from core_eval.cli.score_parts import Job
    from core_eval.text.json_text import json_text

    if aggregate is not None and out is None and not as_json:
        raise UsageError(
            "--aggregate compares means, which are not printed as lines: give --json or --out FILE"
        )
    if tasks == str(traces) == "-":
        raise UsageError("--tasks and --traces cannot both be standard input")
    # Without a summary, any number of traces is streamed in constant memory.
    make = None if out is None and not as_json else _summary(aggregate)
    summary = None if make is None else make()
    scored = failed = 0
    job = Job(_known_tasks(tasks), str(traces), parameters, make)
    with ExitStack() as stack:
        write: Callable[[str], object] = sys.stdout.write
        if out is not None and out.suffix.lower() in TABLES:
            from core_eval.cli.score_table import scores_table

            write = stack.enter_context(scores_table(out))
        elif out is not None:
            write = stack.enter_context(replaced_file(out, "--out", inputs=[Path(tasks), traces])).write
        if jobs > 1:
            from core_eval.cli.score_ranges import parts_of_file

            parts = parts_of_file(job, traces, jobs, _progress_of_parts(stack, traces))
        else:
            parts = job.scored(stack.enter_context(_opened(traces)), 1, summary)
        if as_json:
            sys.stdout.write('{"traces": [')
        for part in parts:
            if as_json and part.text:
                before = ",\n" if scored + failed else "\n"
                sys.stdout.write(before + part.text[:-1].replace("\n", ",\n"))
            if out is not None or not as_json:
                write(part.text)
            scored += part.scored
            failed += part.failed
            if summary is not None and part.summary is not None:
                summary.merge(part.summary)
    if summary is not None and as_json:
        sys.stdout.write(f'\n],\n"summary": {json_text(summary.as_json(), indent=2)}}}\n')
    elif summary is not None:
        _print_summary(summary, aggregate is not None)
    if failed:
        print(
            f"pathrig: {scored} scored, {failed} could not be scored; see `error` in their lines",
            file=sys.stderr,
        )
    return NOT_ALL_SCORED if failed else DONE


def _summary(aggregate: Path | None) -> Callable[[], TraceSummary]:
    from core_eval.report.tables.traces import TraceSummary
    from core_eval.score.aggregate import load_aggregate

    return partial(TraceSummary, load_aggregate(aggregate))


def _print_summary(summary: TraceSummary, gated: bool) -> None:
    from core_eval.score.episodes import INEXACT_NOTE

    shown = console()
    shown.print(summary.table(gated=gated))
    if summary.inexact:
        shown.print(INEXACT_NOTE)


def _known_tasks(ref: str) -> ScoredTasks:
    """Load the tasks of a file or suite; print malformed tasks and cycles on standard error."""
    from configs.suites import scored_suite

    known = scored_suite(ref)
    print_faults(known.malformed)
    warn_of_cycles(task.automaton for task in known.tasks.values())
    return known


@contextmanager
def _opened(path: Path) -> Iterator[Iterable[bytes]]:
    """Open the lines of the traces, with a progress bar on a terminal.

    Raises:
        UsageError: the file cannot be read.
    """
    from core_eval.text.foreign_text import ForeignTextError, open_lines

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
