"""`pathrig tasks`: lists, shows and verifies tasks."""

from __future__ import annotations

import json as text
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from configs.difficulty import solved_share
from configs.suites import every_task, read_suite
from configs.tasks_loader import load_task
from core_eval.cli import tasks_from_gold, tasks_learn, tasks_verify
from core_eval.cli.output import Json, UsageError, console, print_faults, print_json, write_file
from core_eval.log import LogReader, logged_calls
from core_eval.path.automaton import TaskAutomaton
from core_eval.path.calls import Call
from core_eval.report.pictures.automaton_dot import to_dot
from core_eval.report.pictures.automaton_drawing import to_svg
from core_eval.report.tables.fitted_table import Hanging, Table
from core_eval.text.foreign_text import ForeignTextError, open_lines
from core_eval.traces.trace_file import BadTrace, read_traces

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


def made_calls(task: str, db: Path | None, episode: int | None, trace: Path | None) -> list[Call]:
    """Return the calls of the path to draw; none if the options name no episode and no trace.

    Raises:
        UsageError: the options exclude each other, or the file has no calls of the task.
        LogError: the log cannot be read, or has no such episode.
    """
    if (db is None) != (episode is None):
        raise UsageError("--db DB and --episode N go together")
    if db is not None and trace is not None:
        raise UsageError("give --db and --episode, or --trace, not both")
    if db is not None and episode is not None:
        return _of_episode(task, db, episode)
    return [] if trace is None else _of_trace(task, trace)


def draw(
    automaton: TaskAutomaton,
    calls: list[Call],
    *,
    svg: Path | None,
    dot: Path | None,
    inputs: Sequence[Path | None],
) -> None:
    """Write the drawings whose files are given.

    Raises:
        UsageError: a file cannot be written, or is one of the inputs.
    """
    for path, option, picture in ((svg, "--svg", to_svg), (dot, "--dot", to_dot)):
        if path is not None:
            write_file(path, option, picture(automaton, calls), inputs=inputs)


def _of_episode(task: str, db: Path, episode: int) -> list[Call]:
    with LogReader(db) as reader:
        row = reader.episode(episode)
        if row.task != task:
            raise UsageError(f"--episode {episode}: is an episode of task {row.task}, not of {task}")
        return logged_calls(reader.steps(episode))


def _of_trace(task: str, path: Path) -> list[Call]:
    try:
        with open_lines(path) as opened:
            for found in read_traces(opened.lines, file=str(path)):
                if str(found.task) == task:
                    if isinstance(found, BadTrace):
                        raise UsageError(f"--trace {found.error}")
                    return list(found.calls)
    except ForeignTextError as error:
        raise UsageError(f"--trace {path}: {error}") from None
    raise UsageError(f"--trace {path}: has no trace of task {task}")
