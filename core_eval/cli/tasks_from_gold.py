"""`pathrig tasks from-gold`: task files from lists of right calls."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from core_eval.call_status import CallStatus
from core_eval.cli.output import Json, UsageError, console, print_json, replaced_file
from core_eval.imports.effects import tool_effects
from core_eval.imports.gold_tasks import (
    ARGUMENT_FORMS,
    MATCHES,
    NO_ACTIONS,
    SUBSET,
    ArgumentMode,
    GoldTask,
    read_gold,
    task_entry,
)
from core_eval.imports.record import ImportedTrace, ToolSpec
from core_eval.report.tables.fitted_table import Table

DONE, NOT_ALL_READ = 0, 1
EVERY_TOOL = "*"


def from_gold(
    file: Annotated[
        Path,
        typer.Argument(help="Right calls of tasks: JSON, JSON lines, or the tasks of tau2-bench."),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Write the tasks to this file, for score --tasks.")
    ],
    match: Annotated[
        str,
        typer.Option(
            help="exact: all calls in order, no others; in_order: the writes in order; any_order: in any; "
            "superset: in any order, with others between; subset: some of them, in any order."
        ),
    ] = "in_order",
    arguments: Annotated[
        list[str] | None,
        typer.Option(
            "--args",
            metavar="[TOOL=]MODE",
            help=f"How arguments are compared, of all tools or of one: {ARGUMENT_FORMS}. subset: those that "
            "gold has. Default: subset.",
        ),
    ] = None,
    tools: Annotated[
        Path | None,
        typer.Option(help="Tools as JSON, of the OpenAI API or MCP: annotations tell which only read."),
    ] = None,
    traces: Annotated[
        Path | None,
        typer.Option(help="Traces that are to be scored, as import reads them: their tools are listed too."),
    ] = None,
    writes: Annotated[str, typer.Option(help="Tools that write, comma-separated.")] = "",
    reads: Annotated[str, typer.Option(help="Tools that only read, comma-separated.")] = "",
    no_action: Annotated[
        str, typer.Option(help="How a task without a step is ended: decline, nothing, or either.")
    ] = "either",
    json: Json = False,
) -> int:
    """Make tasks of lists of right calls. Exit with 1 if some records could not be read."""
    chosen = _one_of("--match", match, MATCHES)
    ending = _one_of("--no-action", no_action, NO_ACTIONS)
    modes = _modes(arguments or [])
    tasks, faults = _read(file)
    names = {name for task in tasks for name in task.tools}
    described = (*_tools(tools), *_called(traces))
    known = {*names, *(tool.name for tool in described)}
    for option, given in (("--args", modes), ("--writes", _names(writes))):
        for name in sorted(set(given) - known - {EVERY_TOOL}):
            raise UsageError(f"{option}: there is no tool {name!r}; there are {', '.join(sorted(known))}")
    both = sorted({*_names(writes)} & {*_names(reads)})
    if both:
        raise UsageError(f"--writes and --reads both name {both[0]!r}")
    effects = tool_effects(names, described, writes=_names(writes), reads=_names(reads))
    every = modes.get(EVERY_TOOL, SUBSET)
    entries = [
        task_entry(task, chosen, effects, {name: modes.get(name, every) for name in names}, ending)
        for task in tasks
    ]
    data = {"effects": {name: one._asdict() for name, one in effects.items()}, "tasks": entries}
    _write(data, out, file)
    for fault in faults:
        print(f"pathrig: {file}: {fault}", file=sys.stderr)
    _print(tasks, effects, entries, len(faults), as_json=json, out=out)
    return NOT_ALL_READ if faults else DONE


def _one_of(option: str, given: str, known: Sequence[Any]) -> Any:
    if given not in known:
        raise UsageError(f"{option} {given}: must be one of {', '.join(known)}")
    return given


def _names(given: str) -> list[str]:
    return [name.strip() for name in given.split(",") if name.strip()]


def _modes(given: Sequence[str]) -> dict[str, ArgumentMode]:
    found = {}
    for written in given:
        tool, equals, mode = written.rpartition("=")
        try:
            found[tool if equals else EVERY_TOOL] = ArgumentMode.parse(mode)
        except ValueError as error:
            raise UsageError(f"--args {written}: {error}") from None
    return found


def _read(file: Path) -> tuple[list[GoldTask], list[str]]:
    from core_eval.imports.source import ImportFileError, Source

    tasks, faults = [], []
    try:
        pieces = [piece.value for piece in Source(file).items() if piece.key in (None, "tasks")]
    except ImportFileError as error:
        raise UsageError(f"{file}: {error}") from None
    for found in read_gold(pieces):
        if isinstance(found, GoldTask):
            tasks.append(found)
        else:
            faults.append(str(found))
    if not tasks:
        why = f": {faults[0]}" if faults else ": a list of records with 'actions' is needed"
        raise UsageError(f"{file}: holds no right calls of any task{why}")
    return tasks, faults


def _tools(path: Path | None) -> Sequence[ToolSpec]:
    from core_eval.imports.chat import read_tools
    from core_eval.text.foreign_json import ForeignJsonError, parse_json
    from core_eval.text.foreign_text import ForeignTextError, read_text

    if path is None:
        return ()
    try:
        given = parse_json(read_text(path))
        return read_tools(given if isinstance(given, Mapping) else {"tools": given})
    except (ForeignTextError, ForeignJsonError, ValueError) as error:
        raise UsageError(f"--tools {path}: {error}") from None


def _called(path: Path | None) -> Sequence[ToolSpec]:
    """Return the tools that traces describe, and those that they call."""
    from core_eval.imports.registry import importer_of, read_traces
    from core_eval.imports.source import ImportFileError, Source

    if path is None:
        return ()
    found: dict[str, ToolSpec] = {}
    try:
        importer = importer_of(Source(path))
        for trace in read_traces(path, importer.name, next(iter(importer.joins), None)):
            if isinstance(trace, ImportedTrace):
                found.update(
                    (tool.name, tool) for tool in trace.tools if tool.effect or tool.name not in found
                )
                found.update((name, ToolSpec(name)) for name in _names_of(trace) if name not in found)
    except ImportFileError as error:
        raise UsageError(f"--traces {path}: {error}") from None
    return tuple(found.values())


def _names_of(trace: ImportedTrace) -> Iterable[str]:
    return {call.name for call in trace.calls if call.name is not None and call.status != CallStatus.INVALID}


def _write(data: Mapping[str, Any], out: Path, file: Path) -> None:
    import yaml

    with replaced_file(out, "--out", inputs=[file]) as written:
        yaml.safe_dump(dict(data), written, sort_keys=False, allow_unicode=True, width=110)


def _print(
    tasks: Sequence[GoldTask],
    effects: Mapping[str, Any],
    entries: Sequence[Mapping[str, Any]],
    faults: int,
    *,
    as_json: bool,
    out: Path,
) -> None:
    times = Counter(name for task in tasks for name in task.tools)
    empty = sum(not entry["plan"] for entry in entries)
    by_user = sum(task.by_user for task in tasks)
    if as_json:
        counts = {"tasks": len(tasks), "without_steps": empty, "by_user": by_user, "skipped": faults}
        told = {name: {**one._asdict(), "calls": times[name]} for name, one in effects.items()}
        print_json({**counts, "effects": told})
        return
    table = Table("tool", "effect", "told by", "calls", numbers=("calls",))
    for name, one in effects.items():
        table.add_row(Text(name), one.effect, Text(one.told_by), str(times[name]))
    console().print(table)
    notes = [f"{len(tasks)} tasks in {out}, {empty} of them without a step"]
    if by_user:
        notes.append(f"{by_user} calls of simulated users are left out")
    print("; ".join(notes))
