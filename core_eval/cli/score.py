"""`pathrig score`: scores traces from any source, or rescores a log."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from core_eval.cli.output import AggregateOption, UsageError
from core_eval.cli.workers import Workers

BETA, LAM = 0.5, 0.5


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
    verdicts: Annotated[
        bool,
        typer.Option("--verdicts", help="With --rules: print the verdicts after each call as JSON lines."),
    ] = False,
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
        int, typer.Option(min=1, help="With --traces: score parts of the file in so many processes.")
    ] = 1,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="With --traces: score parts of the file on the workers of this Dask scheduler.",
        ),
    ] = None,
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
            others |= {"--traces": traces, "--verdicts": verdicts or None}
            return _score_against(against, rules, db, others, as_json=json)
        assert rules is not None
        if verdicts:
            others |= {"--jobs": None if jobs == 1 else jobs, "--dask": dask, "--json": json or None}
        return _check_rules(rules, traces, db, others, Workers(jobs, dask), as_json=json, verdicts=verdicts)
    if verdicts:
        raise UsageError("--verdicts needs --rules FILE")
    for option, value in (("--beta", beta), ("--lam", lam)):
        if value is not None and math.isnan(value):
            raise UsageError(f"{option} {value}: must be a number from 0 to 1")
    if db is not None:
        for option, path in (("--dask", dask), ("--tasks", tasks), ("--traces", traces), ("--out", out)):
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
    from core_eval.cli.score_traces import score_traces

    return score_traces(
        tasks, traces, out, parameters, as_json=json, aggregate=aggregate, workers=Workers(jobs, dask)
    )


def _score_against(
    against: str, rules: Path | None, db: Path | None, others: Mapping[str, Any], *, as_json: bool
) -> int:
    """Print how well scores and rules tell the failed episodes of a log."""
    from core_eval.cli.run_options import rules_to_check
    from core_eval.cli.score_against import score_against

    _refuse(others, "--against, which computes no scores")
    if db is None:
        raise UsageError("--against needs --db LOG")
    return score_against(db, against, rules_to_check(rules), as_json=as_json)


def _refuse(others: Mapping[str, Any], option: str) -> None:
    for other, value in others.items():
        if value is not None:
            raise UsageError(f"{other} does not go with {option}")


def _check_rules(
    rules: Path,
    traces: Path | None,
    db: Path | None,
    others: Mapping[str, Any],
    workers: Workers,
    *,
    as_json: bool,
    verdicts: bool,
) -> int:
    """Print how the traces, or the episodes of a log, violate rules."""
    from core_eval.cli.rule_check import check_log, check_traces, print_verdicts
    from core_eval.cli.run_options import rules_to_check

    _refuse(others, "--verdicts" if verdicts else "--rules, which computes no scores")
    if (traces is None) == (db is None):
        raise UsageError("--rules needs one of --traces FILE.jsonl and --db FILE")
    checked = rules_to_check(rules)
    if verdicts:
        return print_verdicts(checked, traces, db)
    if db is not None:
        return check_log(checked, db, as_json=as_json)
    assert traces is not None
    return check_traces(checked, traces, workers, as_json=as_json)
