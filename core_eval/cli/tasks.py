"""`pathrig tasks`: lists, shows and verifies tasks."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from core_eval.cli.output import Json, UsageError, console, print_faults, print_json, warn_of_cycles
from core_eval.cli.pictures import draw, made_calls
from core_eval.cli.programs import AllowPrograms
from core_eval.cli.progress import progress

if TYPE_CHECKING:
    from configs.tasks_loader import Task
    from core_eval.verify.static_checks import Site
    from core_eval.verify.task import Verification

app = typer.Typer(help="List tasks, show one, and verify them on their worlds.")
FileArgument = Annotated[
    Path | None,
    typer.Argument(help="A task file, YAML or CORE's JSON; - is standard input; default: the shipped tasks."),
]
GOLDEN_SHOWN = 5
CORES = os.cpu_count() or 1
MOST_LINES = 3
"""Maximum number of faults, and of remarks, printed for a task."""
DONE, MALFORMED = 0, 2


@app.command("list")
def list_all(
    file: FileArgument = None,
    json: Json = False,
) -> int:
    """List tasks. Exit with 2 if some of a file are malformed; the others are listed."""
    from configs.tasks_loader import read_tasks
    from core_eval.report.tables.agents import plain_table

    found = read_tasks(file)
    print_faults(found.malformed)
    if json:
        print_json(
            [
                {
                    "id": task.id,
                    "world": None if task.world is None else task.world.name,
                    "device": task.device.name,
                    "difficulty": task.difficulty,
                    "prompt": task.prompt,
                    "file": str(task.file),
                }
                for task in found.tasks
            ]
        )
    else:
        table = plain_table("task", "device", "prompt")
        for task in found.tasks:
            table.add_row(Text(task.id), task.device.name, Text(task.prompt))
        console().print(table)
    return MALFORMED if found.malformed else DONE


@app.command("show")
def show(
    task: Annotated[str, typer.Argument(help="A task's id, or FILE or FILE#ID.")],
    svg: Annotated[Path | None, typer.Option(help="Draw the automaton to this file, as SVG.")] = None,
    dot: Annotated[Path | None, typer.Option(help="Write the automaton to this file, as DOT.")] = None,
    db: Annotated[Path | None, typer.Option(help="A log with the episode to draw.")] = None,
    episode: Annotated[int | None, typer.Option(help="The episode in --db whose path is drawn.")] = None,
    trace: Annotated[
        Path | None, typer.Option(help="Traces, JSON lines: the path of the task's first one is drawn.")
    ] = None,
    json: Json = False,
) -> None:
    """Show a task: its prompt, its automaton and its first golden paths; or draw it."""
    import json as text

    from configs.tasks_loader import load_task
    from core_eval.report.tables.fitted_table import Hanging

    loaded = load_task(task)
    if svg is not None or dot is not None:
        draw(
            loaded.automaton,
            made_calls(loaded.id, db, episode, trace),
            svg=svg,
            dot=dot,
            inputs=[loaded.file, db, trace],
        )
        return
    if db is not None or episode is not None or trace is not None:
        raise UsageError("--db, --episode and --trace need a drawing: give --svg FILE or --dot FILE")
    golden = [list(path) for path in loaded.automaton.golden_paths(limit=GOLDEN_SHOWN)]
    if json:
        print_json(
            {
                "task": loaded.id,
                "device": loaded.device.name,
                "world": None if loaded.world is None else loaded.world.name,
                "difficulty": loaded.difficulty,
                "prompt": loaded.prompt,
                "paraphrases": list(loaded.paraphrases),
                "init": dict(loaded.init),
                "automaton": text.loads(loaded.automaton.to_json()),
                "golden_paths": golden,
                "warnings": list(loaded.automaton.warnings),
            }
        )
        return
    out = console()
    out.print(Text(f"{loaded.id}  ({loaded.device.name}, {loaded.file})", style="bold"))
    out.print(Text(loaded.prompt))
    if loaded.init:
        out.print(Text(f"initial state: {text.dumps(loaded.init)}"))
    automaton = loaded.automaton
    out.print(
        Text(f"{len(automaton.states)} states, {len(automaton.symbols)} symbols, start {automaton.start}")
    )
    for symbol in automaton.symbols.values():
        arguments = ", ".join(f"{name}{pattern}" for name, pattern in symbol.arguments.items())
        # A plan's symbols are named after their calls; names in CORE's files are arbitrary.
        called = "" if symbol.name.startswith(symbol.tool) else f": {symbol.tool}({arguments})"
        out.print(Hanging(Text(f"  {symbol.name}{called}")))
    out.print(Text(f"golden paths (the first {GOLDEN_SHOWN} at most):"))
    for path in golden:
        out.print(Hanging(Text("  " + " → ".join(path))))
    for warning in automaton.warnings:
        out.print(Text(f"warning: {warning}", style="yellow"))


@app.command("verify")
def verify(
    suite: Annotated[
        list[str] | None,
        typer.Argument(
            help="Task files (YAML or CORE's JSON; - is standard input), folders, patterns of files, or "
            "worlds' names; default: the shipped tasks."
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
    jobs: Annotated[int, typer.Option(min=1, help="Number of processes; default: one per core.")] = CORES,
    json: Json = False,
    allow_programs: AllowPrograms = False,
) -> int:
    """Run golden paths and small changes of them on the tasks' worlds. Exit with 2 if a task fails.

    Tasks of a device file are checked as with --static.
    """
    from configs.suites import read_suite
    from configs.tasks_loader import merged_files, read_tasks
    from core_eval.verify.argument_ranges import check_ranges
    from core_eval.verify.many import verify_all
    from core_eval.verify.other_rigs import check_other_rigs
    from core_eval.verify.static_checks import Site, verify_static
    from core_eval.verify.task import malformed_task, verify_task

    if rig is not None and not static:
        raise UsageError("--rig needs --static: otherwise tasks run on their worlds")
    site = Site() if rig is None else _site(rig)
    found = merged_files(map(read_suite, suite)) if suite else read_tasks()
    warn_of_cycles(task.automaton for task in found.tasks)
    checks = [check_ranges] if nominal else [check_ranges, check_other_rigs]

    def verified(task: Task) -> Verification:
        if static or task.device.rules is not None:
            return verify_static(task, site, seed)
        return verify_task(task, seed, checks)

    with progress("verifying", len(found.tasks)) as advance:
        results = verify_all(found.tasks, verified, jobs=jobs, on_done=lambda _: advance(1))
    results += [malformed_task(task, faults) for task, faults in found.malformed.items()]
    failed = [result.task for result in results if result.faults]
    if json:
        print_json([asdict(result) for result in results])
    else:
        _print_verified(results, {task.id: task for task in found.tasks})
    if failed:
        raise UsageError(f"these tasks fail: {', '.join(failed)}; correct their plans, goals or worlds")
    return DONE


def _print_verified(results: Sequence[Verification], tasks: Mapping[str, Task]) -> None:
    from core_eval.report.tables.agents import plain_table
    from core_eval.report.tables.fitted_table import Hanging

    out = console()
    numbers = ("states", "golden", "reads", "changes", "remarks")
    table = plain_table("task", *numbers, "verdict", optional=("reads", "states"), numbers=numbers)
    for result in results:
        task = tasks.get(result.task)
        table.add_row(
            Text(result.task),
            "-" if task is None else str(len(task.automaton.states)),
            f"{result.paths}+" if result.sampled else str(result.paths),
            "-" if task is None else str(len(task.device.reads)),
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


def _site(rig: str) -> Site:
    from configs.rigs_loader import fitted_tools, load_rig
    from core_eval.verify.static_checks import Site
    from firmware_bridge.envelope import Envelope

    config = load_rig(rig)
    return Site(fitted_tools(config), Envelope(config.envelope))


def _verdict(result: Verification) -> str:
    return "MALFORMED" if result.malformed else "FAILS" if result.faults else "holds"
