"""`pathrig score`: scores traces from anywhere, or a log again."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO, cast

import typer

from core_eval.cli.output import AggregateOption, UsageError, console, print_agents, print_json

if TYPE_CHECKING:
    from core_eval.path import TaskAutomaton

LINES_PER_UPDATE = 1000


def score(
    tasks: Annotated[Path | None, typer.Option(help="Task file, YAML or CORE's JSON.")] = None,
    traces: Annotated[Path | None, typer.Option(help="Traces, JSON lines.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the scores to this file.")] = None,
    db: Annotated[Path | None, typer.Option(help="Score this log again.")] = None,
    write: Annotated[
        bool, typer.Option("--write", help="With --db: put the new scores into the log.")
    ] = False,
    beta: Annotated[float, typer.Option(min=0.0, max=1.0, help="Base of prefix criticality.")] = 0.5,
    lam: Annotated[float, typer.Option(min=0.0, max=1.0, help="Weight of PC in PC-KTC.")] = 0.5,
    aggregate: AggregateOption = None,
    json: Annotated[bool, typer.Option("--json", help="With --db: print JSON.")] = False,
) -> None:
    """Score traces from anywhere, or a log again."""
    if db is not None:
        if tasks is not None or traces is not None or out is not None:
            raise UsageError("--db stands alone: leave out --tasks, --traces and --out")
        _score_log(db, write=write, as_json=json, aggregate=aggregate)
    elif tasks is None or traces is None:
        raise UsageError("give --tasks FILE and --traces FILE.jsonl, or --db FILE")
    else:
        _score_traces(tasks, traces, out, beta, lam)


def _score_log(db: Path, *, write: bool, as_json: bool, aggregate: Path | None) -> None:
    from dataclasses import replace

    from core_eval.harness.rescore import rescore
    from core_eval.log import RunLog
    from core_eval.report.aggregate import load_aggregate
    from core_eval.report.summary import episode_json, summary_json
    from core_eval.report.tables import episodes_table

    compared = load_aggregate(aggregate)
    results = list(rescore(db))
    if write:
        with RunLog(db) as log:
            for again in results:
                new = again.result
                log.write_scores(
                    again.episode.id, new.scores, new.harm, new.failures, new.pairs, new.deviations
                )
    rows = [
        replace(
            again.episode,
            scores=again.result.scores,
            failures=again.result.failures,
            pairs=again.result.pairs,
        )
        for again in results
    ]
    if as_json:
        print_json(
            {
                "episodes": [
                    {**episode_json(row), "differing": list(again.differing)}
                    for row, again in zip(rows, results, strict=True)
                ],
                "summary": summary_json(rows, compared),
            }
        )
    else:
        shown = console()
        shown.print(episodes_table(rows))
        print_agents(shown, rows, aggregate)
    for again in results:
        if again.differing:
            names = ", ".join(again.differing)
            print(f"episode {again.episode.id}: the log says otherwise of {names}", file=sys.stderr)


def _score_traces(tasks: Path, traces: Path, out: Path | None, beta: float, lam: float) -> None:
    from core_eval.path.trace_file import score_lines

    automata = _automata(tasks)
    with ExitStack() as stack:
        source = _open(stack, traces, "r", "--traces")
        target = sys.stdout if out is None else _open(stack, out, "w", "--out")
        lines = _progress(stack, source, traces)
        for line in score_lines(automata, lines, beta=beta, lam=lam, file=str(traces)):
            target.write(line + "\n")


def _automata(tasks: Path) -> dict[str, TaskAutomaton]:
    from configs.core_file import load_core_file
    from configs.errors import ConfigError
    from configs.tasks_loader import list_tasks

    if tasks.suffix != ".json":
        return {task.id: task.automaton for task in list_tasks(tasks)}
    content = load_core_file(tasks)
    # Each malformed record is told, and the others are used.
    for fault in content.faults:
        print(f"pathrig: {fault}", file=sys.stderr)
    if not content.tasks:
        raise ConfigError("holds no task that can be used", file=tasks)
    return {task.id: task.automaton for task in content.tasks}


def _open(stack: ExitStack, path: Path, mode: str, option: str) -> TextIO:
    try:
        file = path.open(mode, encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise UsageError(f"{option} {path}: {error.strerror}") from None
    return stack.enter_context(cast("TextIO", file))


def _progress(stack: ExitStack, source: TextIO, path: Path) -> Iterable[str]:
    """The lines, with a bar on a terminal."""
    if not sys.stderr.isatty():
        return source
    from rich.progress import Progress

    progress = stack.enter_context(Progress(console=console(stderr=True), transient=True))
    bar = progress.add_task("scoring", total=path.stat().st_size)

    def lines() -> Iterator[str]:
        read = 0
        for number, line in enumerate(source):
            read += len(line)
            if number % LINES_PER_UPDATE == 0:
                progress.update(bar, completed=read)
            yield line

    return lines()
