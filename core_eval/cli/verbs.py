"""The verbs of `pathrig`. Each is imported when it is called, so that the command starts fast."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from importlib import import_module
from keyword import iskeyword
from typing import Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

VERBS: Mapping[str, Mapping[str, str]] = {
    "Evaluate": {
        "demo": "Run three agents on two simulated rigs, and compare them.",
        "run": "Run episodes, log every call, and score them.",
        "score": "Score traces from any source, or rescore a log.",
        "import": "Write the traces of other programs to a log.",
        "bench": "Find which of many local models may drive a rig.",
        "board": "Make a page of benches of many people.",
        "compare": "Compare two logs, or the agents of one.",
        "show": "List a log's episodes, or show one step by step.",
        "report": "Write a log as HTML that opens offline.",
        "harm": "List a log's harm events, with evidence.",
        "watch": "Serve a live page of logs and rigs.",
        "view": "Serve a page of all logs of a folder.",
        "gate": "Fail where a run misses a threshold, or got worse.",
        "sim": "Serve a simulator over MQTT or serial.",
    },
    "Manage": {
        "tasks": "List tasks, show one, and verify them.",
        "suite": "Build a suite's manifest, and check what it measures.",
        "rules": "Draft rules from a prompt, review and check them.",
        "worlds": "List worlds, and write a package with a new one.",
        "rigs": "List, test, set up and calibrate rigs.",
        "models": "List models, and check one before a run.",
        "log": "Copy, search, export and picture a log.",
        "verify": "Check that a log is what its runs wrote.",
        "serve": "Run a schedule on many rigs, for months.",
        "doctor": "Check this machine and its rigs for a long run.",
        "firmware": "Compile a task for the guard on a chip.",
    },
    "More": {
        "mcp": "Offer a rig to MCP clients, for one episode.",
        "power": "Tell how many episodes tell a difference.",
    },
}
"""The verbs in groups, with a summary that fits a terminal of 80 columns."""
NAMES = tuple(name for group in VERBS.values() for name in group)

FIRST_COLUMN = 25
"""Maximum width of the options in help, so that most texts take one line of 80 columns."""
_MODEL_KEYS = ("scaffold", "tools", "grammar", "thinking", "temperature")
RENAMED: Mapping[str, str] = {
    "backup": "log backup",
    "baseline": "gate",
    "broker": "rigs broker",
    "calibrate": "rigs calibrate",
    "export": "log export",
    "gate check": "gate DB --against FILE",
    "gate save": "gate DB --save FILE",
    "picture": "log picture",
    "record": "log record",
    "sensors": "rigs sensors",
    "run --aggregate": "show DB --aggregate FILE",
    "run --beta": "score --db DB --beta B",
    "run --lam": "score --db DB --lam L",
    "run --per-task": "run --gates FILE, with per_task: true",
    "show --search": "log search DB TEXT",
    **{f"run --{key}": f"run --set {key}=VALUE" for key in _MODEL_KEYS},
    **{f"run --max-{key}": f"run --set max_{key}=N" for key in ("steps", "tokens", "seconds")},
}
"""Verbs and options that have moved, and what is written now."""


def renamed(*words: str) -> str | None:
    """Return a line that names what is written now for the first words of a command; None: they are right."""
    for count in (2, 1):
        old = " ".join(words[:count])
        if new := RENAMED.get(old):
            return f"`pathrig {old}` is `pathrig {new}` now"
    return None


class Grouped(TyperCommand):
    """A verb whose help lists its options in groups, by `rich_help_panel`."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each group."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                is_argument = parameter.param_type_name == "argument"
                panel = getattr(parameter, "rich_help_panel", None) or "Options"
                sections.setdefault("Arguments" if is_argument else panel, []).append(record)
        # A section for --help alone is none.
        *named, last = sections
        if named and len(sections[last]) == 1:
            sections[named[-1]] += sections.pop(last)
        for heading, rows in sections.items():
            with formatter.section(heading):
                formatter.write_dl(rows, col_max=FIRST_COLUMN)


class _Commands(Mapping[str, Any]):
    """The commands of all verbs, each made when it is looked up."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in NAMES:
            raise KeyError(name)
        if name not in self._made:
            self._made[name] = _command(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


def _command(name: str) -> Any:
    """Return the command of a verb: the `app` of the module of its name, or the function of its name.

    A name that is a word of Python has an underscore after it.
    """
    python = f"{name}_" if iskeyword(name) else name
    # What a verb loads stays to the end: the garbage collector would go over it again and again.
    gc.disable()
    try:
        module = import_module(f"core_eval.cli.{python}")
    finally:
        gc.freeze()
        gc.set_threshold(10_000)
        gc.enable()
    app = typer.Typer(rich_markup_mode=None, add_completion=False)
    app.callback()(lambda: None)
    if hasattr(module, "app"):
        app.add_typer(module.app, name=name)
    else:
        app.command(name, cls=Grouped)(getattr(module, python))
    return typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]


class Verbs(TyperGroup):
    """The top of the command line."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = cast("Any", _Commands())

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the verbs' names."""
        return list(NAMES)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the verb that is called; raises the parser's error where there is none."""
        if (line := renamed(*args)) is not None:
            ctx.fail(line)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each group of verbs."""
        for heading, verbs in VERBS.items():
            with formatter.section(heading):
                formatter.write_dl(list(verbs.items()))
