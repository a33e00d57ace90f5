"""`pathrig gate`: keep a run's scores in a file, and fail where a later run is worse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from core_eval.cli.output import UsageError, check_output, console, print_json, read_json_object, write_file

if TYPE_CHECKING:
    from core_eval.log import EpisodeRow
    from core_eval.score.gate import Baseline, Change

app = typer.Typer(help="Keep a run's scores, and compare later runs with them.", no_args_is_help=True)
RunArgument = Annotated[
    str, typer.Argument(metavar="DB[#RUN]", help="A log, and the number of a run; default: the latest run.")
]


def baseline() -> None:
    """Say what became of the verb."""
    raise UsageError(
        "`pathrig baseline` is `pathrig gate` now: pathrig gate save DB -o FILE, pathrig gate check DB FILE"
    )


@app.command("save")
def save(
    run: RunArgument,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The baseline, a JSON file; commit it with your project.")
    ],
) -> None:
    """Write the scores of a run's episodes to a file."""
    from core_eval.cli.run_reference import read_run
    from core_eval.score.gate import Baseline
    from core_eval.text.json_text import json_text

    check_output(out, "-o")
    row, episodes = read_run(run)
    baseline = Baseline.of(episodes, row.packages)
    if not baseline.episodes:
        raise UsageError(f"{run}: no episode of run {row.id} came to its end: there is nothing to keep")
    write_file(out, "-o", json_text(baseline.model_dump(mode="json"), indent=1) + "\n", inputs=[_db(run)])
    console().print(f"{out}: {len(baseline.episodes)} episodes of run {row.id}")


@app.command("check")
def check(
    run: RunArgument,
    file: Annotated[Path, typer.Argument(help="A file of `pathrig gate save`.")],
    metric: Annotated[
        list[str] | None,
        typer.Option(help="Compare these metrics; may be given several times. Default: path and harm."),
    ] = None,
    tolerance: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=VALUE",
            help="The difference up to which the metric counts as the same; may be given several times.",
        ),
    ] = None,
    alpha: Annotated[
        float, typer.Option(help="The chance that an unchanged agent fails, where it acts by chance.")
    ] = 0.05,
    named: Annotated[
        str | None,
        typer.Option("--as", metavar="NAME", help="Compare the run's agent with this one of the baseline."),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown, for a pull request.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Compare a run with a baseline; exit with 1 if an agent got worse, or a task was not run.

    Tasks that leave nothing to chance are compared exactly. The others are tested together, by agent and
    metric: a paired t test over tasks, corrected for all tests (Holm).
    """
    from core_eval.cli.run_reference import read_run
    from core_eval.report.tables.markdown import changes_markdown, power_lines
    from core_eval.score.gate import CHECKED, changes

    if not 0.0 < alpha <= 0.5:
        raise UsageError(f"--alpha {alpha:g}: must be above 0, and 0.5 at most")
    names = [_metric(text, "--metric") for text in metric] if metric else CHECKED
    tolerances = dict(map(_tolerance, tolerance or ()))
    baseline = _read(file)
    row, episodes = read_run(run)
    if named is not None:
        episodes = _renamed(episodes, named, baseline, run, file)
    found = changes(baseline, episodes, names, tolerances, alpha)
    bad = sum(one.verdict in ("worse", "missing") for one in found)
    better = sum(one.verdict == "better" for one in found)
    if json:
        told = [asdict(one) for one in found]
        print_json({"run": row.id, "alpha": alpha, "worse": bad, "better": better, "changes": told})
    elif markdown:
        print(changes_markdown(found), end="")
    else:
        _print([one for one in found if one.verdict not in ("same", "not tested")])
        for line in power_lines(found):
            console().print(line)
        print(f"{bad} worse, {better} better than {file}")
    return 1 if bad else 0


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


def _print(shown: Sequence[Change]) -> None:
    from core_eval.report.tables.agent_names import short_names
    from core_eval.report.tables.agents import plain_table
    from core_eval.report.tables.markdown import figures, heading

    if not shown:
        return
    numbers = ("before", "now", "p")
    table = plain_table("change", "task", "agent", "metric", *numbers, numbers=numbers)
    names = short_names(one.agent for one in shown)
    for one in shown:
        table.add_row(one.verdict, one.task, names[one.agent], heading(one.metric), *figures(one))
    console().print(table)


def _read(file: Path) -> Baseline:
    from pydantic import ValidationError

    from core_eval.score.gate import Baseline

    try:
        return Baseline.model_validate(read_json_object(file, "baseline"))
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in wrong["loc"])
        raise UsageError(f"baseline {file}: {key}: {wrong['msg']}") from None


def _metric(text: str, option: str) -> str:
    from core_eval.score.gate import KEPT
    from core_eval.score.thresholds import UnknownMetricError, metric_named

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


def _db(run: str) -> Path:
    return Path(run.rpartition("#")[0] or run)
