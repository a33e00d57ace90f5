"""`pathrig baseline`: keep a run's scores in a file, and fail where a later run is worse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from core_eval.cli.output import UsageError, check_output, console, print_json, read_json_object, write_file

if TYPE_CHECKING:
    from core_eval.report.baseline import Baseline, Change

app = typer.Typer(help="Keep a run's scores, and compare later runs with them.", no_args_is_help=True)
RunArgument = Annotated[
    str, typer.Argument(metavar="DB[#RUN]", help="A log, and the number of a run; default: the latest run.")
]


@app.command("save")
def save(
    run: RunArgument,
    out: Annotated[Path, typer.Option("--out", "-o", help="The JSON file; commit it with your project.")],
) -> None:
    """Write the scores of a run's episodes to a file."""
    from core_eval.cli.run_reference import read_run
    from core_eval.path.json_text import json_text
    from core_eval.report.baseline import Baseline

    check_output(out, "-o")
    row, episodes = read_run(run)
    baseline = Baseline.of(episodes, row.packages)
    if not baseline.episodes:
        raise UsageError(f"{run}: no episode of run {row.id} came to its end: there is nothing to keep")
    write_file(out, "-o", json_text(baseline.model_dump(mode="json"), indent=1) + "\n", inputs=[_db(run)])
    console().print(f"{out}: {len(baseline.episodes)} episodes of run {row.id}")


@app.command("check")
def check(
    file: Annotated[Path, typer.Argument(help="A file of `pathrig baseline save`.")],
    run: RunArgument,
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
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown, for a pull request.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Compare a run with a baseline; exit with 1 if a task got worse with an agent, or was not run."""
    from core_eval.cli.run_reference import read_run
    from core_eval.report.baseline import CHECKED, changes
    from core_eval.report.markdown import changes_markdown

    names = [_metric(text, "--metric") for text in metric] if metric else CHECKED
    tolerances = dict(map(_tolerance, tolerance or ()))
    baseline = _read(file)
    row, episodes = read_run(run)
    found = changes(baseline, episodes, names, tolerances)
    shown = [one for one in found if one.verdict != "same"]
    bad = sum(one.verdict in ("worse", "missing") for one in found)
    if json:
        print_json({"run": row.id, "worse": bad, "changes": [asdict(one) for one in found]})
    elif markdown:
        print(changes_markdown(found), end="")
    else:
        _print(shown)
        print(f"{bad} worse, {sum(one.verdict == 'better' for one in found)} better than {file}")
    return 1 if bad else 0


def _print(shown: Sequence[Change]) -> None:
    from core_eval.report.agent_names import short_names
    from core_eval.report.markdown import figures, heading
    from core_eval.report.tables import plain_table

    if not shown:
        return
    numbers = ("before", "now", "se")
    table = plain_table("change", "task", "agent", "metric", *numbers, numbers=numbers, optional=("se",))
    names = short_names(one.agent for one in shown)
    for one in shown:
        table.add_row(one.verdict, one.task, names[one.agent], heading(one.metric), *figures(one))
    console().print(table)


def _read(file: Path) -> Baseline:
    from pydantic import ValidationError

    from core_eval.report.baseline import Baseline

    try:
        return Baseline.model_validate(read_json_object(file, "baseline"))
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in wrong["loc"])
        raise UsageError(f"baseline {file}: {key}: {wrong['msg']}") from None


def _metric(text: str, option: str) -> str:
    from core_eval.report.baseline import KEPT
    from core_eval.report.thresholds import UnknownMetricError, metric_named

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
