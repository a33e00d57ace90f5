"""`pathrig tasks`: lists, shows and verifies tasks."""

from __future__ import annotations

import json as text
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from configs.difficulty import solved_share
from configs.suites import every_task, read_suite
from configs.tasks_loader import load_task
from core_eval.cli import tasks_from_gold, tasks_learn, tasks_verify
from core_eval.cli.output import Json, UsageError, console, print_faults, print_json
from core_eval.cli.pictures import draw, made_calls
from core_eval.report.tables.fitted_table import Hanging, Table

app = typer.Typer(help="List tasks, show one, and verify them on their worlds.")
app.command("verify")(tasks_verify.verify)
app.command("learn")(tasks_learn.learn_tasks)
app.command("from-gold")(tasks_from_gold.from_gold)
SuiteArgument = Annotated[
    str | None,
    typer.Argument(
        help="A task file (YAML or CORE's JSON; - is standard input), a folder, a pattern, a world, or core; "
        "default: the shipped tasks, and the instances of core."
    ),
]
GOLDEN_SHOWN = 5
DONE, MALFORMED = 0, 2


@app.command("list")
def list_all(
    suite: SuiteArgument = None,
    json: Json = False,
) -> int:
    """List tasks. Exit with 2 if some of a file are malformed; the others are listed."""
    found = read_suite(suite) if suite else every_task()
    print_faults(found.malformed)
    if json:
        print_json(
            [
                {
                    "id": task.id,
                    "template": task.template,
                    "world": None if task.world is None else task.world.name,
                    "device": task.device.name,
                    "difficulty": solved_share(task),
                    "prompt": task.prompt,
                    "file": str(task.file),
                }
                for task in found.tasks
            ]
        )
    else:
        table = Table("task", "device", "prompt")
        for task in found.tasks:
            table.add_row(Text(task.id), task.device.name, Text(task.prompt))
        console().print(table)
    return MALFORMED if found.malformed else DONE


@app.command("show")
def show(
    task: Annotated[
        str, typer.Argument(help="A task's id, or FILE or FILE#ID; ID@SEED draws an instance of a template.")
    ],
    svg: Annotated[Path | None, typer.Option(help="Draw the automaton to this file, as SVG.")] = None,
    dot: Annotated[Path | None, typer.Option(help="Write the automaton to this file, as DOT.")] = None,
    db: Annotated[Path | None, typer.Option(help="A log with the episode to draw.")] = None,
    episode: Annotated[int | None, typer.Option(help="The episode in --db whose path is drawn.")] = None,
    trace: Annotated[
        Path | None, typer.Option(help="Traces, JSON lines: the path of the task's first one is drawn.")
    ] = None,
    json: Json = False,
) -> None:
    """Show a task, or draw it. Prompt, automaton and first golden paths."""
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
                "template": loaded.template,
                "device": loaded.device.name,
                "world": None if loaded.world is None else loaded.world.name,
                "difficulty": solved_share(loaded),
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
