"""`pathrig gate`: fails where a run misses a threshold, or is worse than a baseline that was saved."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from core_eval.cli import run_options as given
from core_eval.cli.finish import Outputs, finish
from core_eval.cli.output import (
    UsageError,
    check_output,
    console,
    print_json,
    read_json_object,
    write_file,
)
from core_eval.cli.references import config_of, parted, read_run
from core_eval.cli.run_options import OUTPUT, option
from core_eval.log import EpisodeRow, RunRow
from core_eval.report.tables.fitted_table import Table
from core_eval.report.tables.markdown import changes_markdown, figures, heading, power_lines
from core_eval.score.agent_names import short_names
from core_eval.score.gate import CHECKED, KEPT, Baseline, GateChange, changes
from core_eval.score.thresholds import UnknownMetricError, metric_named
from core_eval.text.json_text import json_text

BASELINE = "Baseline"


def gate(
    run: Annotated[
        str,
        typer.Argument(metavar="DB[#RUN]", help="A log, and the number of a run; default: the latest run."),
    ],
    fail_under: given.FailUnder = None,
    gates: given.Gates = None,
    save: Annotated[
        Path | None, option(BASELINE, "Write the run's scores to this JSON file; commit it.")
    ] = None,
    against: Annotated[Path | None, option(BASELINE, "Compare the run with this file of --save.")] = None,
    metric: Annotated[
        list[str] | None,
        option(BASELINE, "Compare these metrics, not all of path and harm. *"),
    ] = None,
    tolerance: Annotated[
        list[str] | None,
        option(
            BASELINE,
            "The difference up to which the metric counts as the same. *",
            metavar="METRIC=VALUE",
        ),
    ] = None,
    alpha: Annotated[
        float, option(BASELINE, "The chance that an unchanged agent fails, where it acts by chance.")
    ] = 0.05,
    named: Annotated[
        str | None,
        option(BASELINE, "Compare the run's agent with this one of the baseline.", "--as", metavar="NAME"),
    ] = None,
    junit: given.Junit = None,
    report: given.Report = None,
    markdown: Annotated[
        bool, option(OUTPUT, "Print the comparison as Markdown, for a pull request.", "--markdown")
    ] = False,
    json: Annotated[bool, option(OUTPUT, "Print JSON.", "--json")] = False,
) -> int:
    """Judge a run of a log; exit with 1 if a threshold is missed, an agent got worse, or a task is missing.

    In a comparison, tasks that leave nothing to chance are compared exactly. The others are tested together,
    by agent and metric: a paired t test over tasks, corrected for all tests (Holm). Options marked * are
    repeatable.
    """
    outputs = Outputs.checked(fail_under, gates, junit, report, json=False)
    if save is None and against is None and outputs == Outputs():
        raise UsageError("give --fail-under, --gates, --against, --save, --junit or --report")
    if not 0.0 < alpha <= 0.5:
        raise UsageError(f"--alpha {alpha:g}: must be above 0, and 0.5 at most")
    names = [_metric(text, "--metric") for text in metric] if metric else CHECKED
    tolerances = dict(map(_tolerance, tolerance or ()))
    baseline = None if against is None else _read(against)
    db, (row, episodes) = parted(run, "run")[0], read_run(run)
    found: dict[str, Any] = {"run": row.id}
    missed = _judge(db, row, outputs, found)
    if save is not None:
        _save(db, row, episodes, save)
    if baseline is not None and against is not None:
        if named is not None:
            episodes = _renamed(episodes, named, baseline, run, against)
        compared = changes(baseline, episodes, names, tolerances, alpha)
        worse = sum(one.verdict in ("worse", "missing") for one in compared)
        better = sum(one.verdict == "better" for one in compared)
        missed = missed or worse > 0
        found |= {
            "alpha": alpha,
            "worse": worse,
            "better": better,
            "changes": [one.as_json() for one in compared],
        }
        if not json:
            _print(compared, markdown)
        if not (json or markdown):
            print(f"{worse} worse, {better} better than {against}")
    if json:
        print_json(found)
    return 1 if missed else 0


def _judge(db: Path, row: RunRow, outputs: Outputs, found: dict[str, Any]) -> bool:
    """Judge the thresholds and write the files; return whether something was missed."""
    if outputs == Outputs():
        return False
    finished = finish(db, row.id, config_of(row, db), outputs)
    found["thresholds"] = [
        {"threshold": str(one.threshold), "agent": one.agent, "task": one.task, "missed": one.missed}
        for one in finished.judged
    ]
    left = len(finished.not_run)
    if left:
        print(f"pathrig: run {row.id} has not ended: {left} of its episodes were not run", file=sys.stderr)
    return finished.print_missed() or (left > 0 and bool(outputs.thresholds))


def _save(db: Path, row: RunRow, episodes: Sequence[EpisodeRow], out: Path) -> None:
    """Write the scores of a run's episodes to a file."""
    check_output(out, "--save")
    baseline = Baseline.of(episodes, row.packages)
    if not baseline.episodes:
        raise UsageError(f"{db}: no episode of run {row.id} came to its end: there is nothing to keep")
    text = json_text(baseline.model_dump(mode="json"), indent=1) + "\n"
    write_file(out, "--save", text, inputs=[db])
    print(f"{out}: {len(baseline.episodes)} episodes of run {row.id}", file=sys.stderr)


def _renamed(
    episodes: Sequence[EpisodeRow], name: str, baseline: Baseline, run: str, file: Path
) -> list[EpisodeRow]:
    """Return the episodes of a run's only agent under another name.

    Raises:
        UsageError: the run has several agents, or the baseline none of that name.
    """
    agents = list(dict.fromkeys(row.agent for row in episodes))
    if len(agents) != 1:
        raise UsageError(f"--as {name}: {run} has {len(agents)} agents ({', '.join(agents)}); it needs one")
    known = list(dict.fromkeys(one.agent for one in baseline.episodes))
    if name not in known:
        raise UsageError(f"--as {name}: {file} has no such agent; its agents are {', '.join(known)}")
    return [replace(row, agent=name) for row in episodes]


def _print(found: Sequence[GateChange], markdown: bool) -> None:
    """Print what changed, and how small a difference the tests can tell."""
    if markdown:
        print(changes_markdown(found), end="")
        return
    shown = [one for one in found if one.verdict not in ("same", "not tested")]
    if shown:
        numbers = ("before", "now", "p")
        table = Table("change", "task", "agent", "metric", *numbers, numbers=numbers)
        names = short_names(one.agent for one in shown)
        for one in shown:
            table.add_row(one.verdict, one.task, names[one.agent], heading(one.metric), *figures(one))
        console().print(table)
    for line in power_lines(found):
        console().print(line)


def _read(file: Path) -> Baseline:
    try:
        return Baseline.model_validate(read_json_object(file, "baseline"))
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in wrong["loc"])
        raise UsageError(f"baseline {file}: {key}: {wrong['msg']}") from None


def _metric(text: str, option: str) -> str:
    try:
        name = metric_named(text)
    except UnknownMetricError as error:
        raise UsageError(f"{option}: {error}") from None
    if name not in KEPT:
        raise UsageError(f"{option}: {name} depends on the machine, so a baseline does not hold it")
    return name


def _tolerance(text: str) -> tuple[str, float]:
    name, mark, value = text.partition("=")
    try:
        number = float(value) if mark else -1.0
    except ValueError:
        number = -1.0
    if not 0.0 <= number < float("inf"):
        raise UsageError(f"--tolerance {text!r}: write METRIC=VALUE with a number, 0 or more")
    return _metric(name, "--tolerance"), number
