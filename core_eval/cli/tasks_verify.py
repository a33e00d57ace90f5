"""`pathrig tasks verify`: golden paths and small changes of them, on the tasks' worlds."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from configs.suites import read_suite
from configs.task import Task
from configs.tasks_loader import merged_files, read_tasks
from core_eval.cli.output import Json, UsageError, console, print_json, warn_of_cycles
from core_eval.cli.programs import AllowPrograms
from core_eval.cli.progress import progress
from core_eval.report.tables.fitted_table import Hanging, Table
from core_eval.verify.kept import kept_results, read_results
from core_eval.verify.many import verifier, verify_all
from core_eval.verify.static_checks import Site
from core_eval.verify.task import Verification, malformed_task

CORES = os.cpu_count() or 1
MOST_LINES = 3
"""Maximum number of faults, and of remarks, printed for a task."""


def verify(
    suite: Annotated[
        list[str] | None,
        typer.Argument(
            help="Task files (YAML or CORE's JSON; - is standard input), folders, patterns of files, worlds' "
            "names, or tasks (ID@SEED: an instance of a template); default: the shipped tasks."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of worlds and samples.")] = 0,
    static: Annotated[
        bool,
        typer.Option(
            "--static", help="Run nothing; check the calls against the device type, its rules and --rig."
        ),
    ] = False,
    rig: Annotated[
        str | None,
        typer.Option(help="With --static: the rig whose envelope and tools must allow the golden paths."),
    ] = None,
    nominal: Annotated[
        bool, typer.Option("--nominal", help="Do not run golden paths on rigs with other hidden parameters.")
    ] = False,
    drawn: Annotated[
        int, typer.Option(min=0, help="So many instances of each template are drawn and run, too.")
    ] = 3,
    resume: Annotated[
        Path | None,
        typer.Option(
            help="Keep each result in this file, and go on from those that it holds.", metavar="FILE"
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Number of processes; default: one per core.")] = CORES,
    json: Json = False,
    allow_programs: AllowPrograms = False,
) -> int:
    """Run golden paths and small changes of them on their worlds. Exit with 2 if a task fails.

    Tasks of a device file are checked as with --static.
    """
    if rig is not None and not static:
        raise UsageError("--rig needs --static: otherwise tasks run on their worlds")
    site = Site() if rig is None else Site.of(rig)
    found = merged_files(map(read_suite, suite)) if suite else read_tasks()
    warn_of_cycles(task.automaton for task in found.tasks)
    verified = verifier(found, seed, site, static=static, nominal=nominal, drawn=drawn)
    options = f"seed {seed} static {static} rig {rig} nominal {nominal} drawn {drawn}"
    by_id = {task.id: task for task in found.tasks}
    if resume is not None and len(by_id) < len(found.tasks):
        raise UsageError("--resume keeps results by the task's id, and two of these tasks share one")
    known = {} if resume is None else read_results(resume, found.tasks, options)
    todo = [task for task in found.tasks if task.id not in known]
    with progress("verifying", len(todo)) as advance, kept_results(resume, options) as keep:

        def done(result: Verification) -> None:
            advance(1)
            keep(result, by_id[result.task])
            if not sys.stderr.isatty() and len(todo) > 1:
                print(f"{result.task}: {_verdict(result)}", file=sys.stderr, flush=True)

        new = iter(verify_all(todo, verified, jobs=jobs, on_done=done))
    results = [known[task.id] if task.id in known else next(new) for task in found.tasks]
    results += [malformed_task(task, faults) for task, faults in found.malformed.items()]
    failed = [result.task for result in results if result.faults]
    if json:
        print_json([asdict(result) for result in results])
    else:
        _print_verified(results, {task.id: task for task in found.tasks})
    if failed:
        raise UsageError(f"these tasks fail: {', '.join(failed)}; correct their plans, goals or worlds")
    return 0


def _print_verified(results: Sequence[Verification], tasks: Mapping[str, Task]) -> None:
    out = console()
    numbers = ("states", "golden", "reads", "changes", "remarks")
    table = Table("task", *numbers, "verdict", optional=("reads", "states"), numbers=numbers)
    for result in results:
        task = tasks.get(result.task)
        table.add_row(
            Text(result.task),
            "-" if task is None else str(len(task.automaton.states)),
            f"{result.paths}+" if result.sampled else str(result.paths),
            "-" if task is None else str(len(task.offered.reads)),
            str(result.mutants),
            str(len(result.remarks)),
            Text(_verdict(result), style="red" if result.faults else ""),
        )
    out.print(table)
    for result in results:
        for style, kind, lines in (("red", "fault", result.faults), ("dim", "remark", result.remarks)):
            for line in lines[:MOST_LINES]:
                out.print(Hanging(Text(f"{result.task}: {kind}: {line}", style=style)))
            if len(lines) > MOST_LINES:
                out.print(
                    Text(f"{result.task}: {len(lines) - MOST_LINES} more; --json prints all", style=style)
                )


def _verdict(result: Verification) -> str:
    return "MALFORMED" if result.malformed else "FAILS" if result.faults else "holds"
