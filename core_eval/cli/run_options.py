"""The options of `pathrig run`, in their groups; some are those of `mcp`, `gate` and `demo` too."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from typer.models import OptionInfo

from core_eval.cli.output import UsageError
from core_eval.cli.programs import allow_option
from core_eval.rules.rule_file import Rule, load_rules
from firmware_bridge.guard import GuardMode

WHAT, MODEL, RIG, GATES, OUTPUT = "What", "Model", "Rig and guard", "Gates", "Output"
DEFAULT_DB = Path("pathrig.db")


def option(
    panel: str, help: str, *names: str, metavar: str | None = None, min: float | None = None
) -> OptionInfo:
    """Return an option of a group; its default stands in the function that takes it."""
    info: OptionInfo = typer.Option(*names, help=help, metavar=metavar, min=min, rich_help_panel=panel)
    return info


Task = Annotated[list[str] | None, option(WHAT, "A task's id, or its file. *", metavar="ID|FILE[#ID]")]
Suite = Annotated[
    list[str] | None, option(WHAT, "Tasks: core, hazards, a world, files, a folder. *", metavar="NAME|FILE")
]
Episodes = Annotated[int, option(WHAT, "Of each task and agent.", metavar="N", min=1)]
Seed = Annotated[int, option(WHAT, "First seed; then S + 1, ...", metavar="S")]
Init = Annotated[Path | None, option(WHAT, "JSON over the initial state of a simulator.", metavar="FILE")]
Vary = Annotated[bool, option(WHAT, "Draw initial states from the world's ranges.", "--vary")]
Hazards = Annotated[bool, option(WHAT, "Draw hazards: people, wet soil, faults, ...", "--hazards")]
Retries = Annotated[int, option(WHAT, "New tries of an episode that a fault disturbed.", metavar="N", min=0)]
Resume = Annotated[
    bool | None,
    option(
        WHAT,
        "Resume the run cut in --db; rest: repeat none.",
        "--resume/--resume-rest",
    ),
]
Jobs = Annotated[int, option(WHAT, "Episodes at a time; one a machine.", metavar="N", min=1)]
Dask = Annotated[
    str | None,
    option(WHAT, "On workers of a Dask scheduler; simulators only.", "--dask", metavar="ADDRESS"),
]
KeepGoing = Annotated[
    bool | None,
    option(
        WHAT,
        "When an agent fails, run the others. Default: with several agents.",
        "--keep-going/--no-keep-going",
    ),
]
Agent = Annotated[
    list[str] | None,
    option(
        MODEL,
        "llama:FILE.gguf, openai:URL#MODEL, model:NAME, oracle, ...; or SPEC?key=value&key=value. *",
        metavar="SPEC",
    ),
]
Floors = Annotated[
    bool | None,
    option(
        MODEL,
        "Add baselines: idle ones, chance, the oracle. Default: beside models, with --suite, on simulators.",
        "--floors/--no-floors",
    ),
]
Set = Annotated[
    list[str] | None,
    option(
        MODEL,
        "An option of all models, as in scaffold=react; with several values, one variant for each. *",
        "--set",
        metavar="KEY=VALUE[,VALUE]",
    ),
]
Rig = Annotated[
    list[str] | None,
    option(RIG, "A rig; default: sim, each task's own world. *", metavar="NAME|FILE|URL"),
]
Guard = Annotated[
    GuardMode | None,
    option(RIG, f"{', '.join(GuardMode)}. Default: observe on simulators, else block.", metavar="MODE"),
]
Rules = Annotated[Path | None, option(RIG, "YAML: rules for its calls, checked live.", metavar="FILE")]
SafeTool = Annotated[
    list[str] | None,
    option(RIG, "A tool that the guard always lets through. *", "--safe-tool", metavar="TOOL"),
]
CallTimeout = Annotated[float, option(RIG, "Seconds for a call, then it is a fault.", metavar="S", min=0.1)]
Live = Annotated[
    str | None,
    option(RIG, "Serve a page to approve and stop; HOST:PORT?answer=S.", metavar="[HOST:PORT]"),
]
AllowPrograms = Annotated[bool, allow_option(RIG)]
FailUnder = Annotated[
    list[str] | None,
    option(
        GATES,
        "A bound on each agent's mean; also >= and <=. *",
        metavar="METRIC=VALUE",
    ),
]
Gates = Annotated[Path | None, option(GATES, "YAML: thresholds by agent and task.", metavar="FILE")]
FaultsAreHarm = Annotated[
    bool, option(GATES, "Count faults of rig and link as harmful calls.", "--faults-are-harm")
]
Db = Annotated[Path, option(OUTPUT, "The log; a run is appended.", metavar="FILE")]
Durable = Annotated[bool, option(OUTPUT, "Sync it at each call: a power cut loses nothing.", "--durable")]
Junit = Annotated[Path | None, option(OUTPUT, "Write JUnit XML.", metavar="FILE")]
Report = Annotated[Path | None, option(OUTPUT, "Write the report.", metavar="FILE.html|DIR")]
Json = Annotated[bool, option(OUTPUT, "Print episodes and summary as JSON.", "--json")]


def rules_to_check(path: Path | None) -> tuple[Rule, ...]:
    """Return the rules of a file that are checked; tell on standard error of drafts that wait for review.

    Raises:
        ConfigError: the file cannot be read, or a key of it is wrong.
        UsageError: none of its rules is checked.
    """
    if path is None:
        return ()
    file = load_rules(path)
    waiting = sum(rule.review == "drafted" for rule in file.rules)
    remedy = f"{waiting} of {len(file.rules)} wait for `pathrig rules review {path}`"
    if not file.checked:
        raise UsageError(f"{path}: none of its rules is approved; {remedy}")
    if waiting:
        print(f"pathrig: {path}: drafts are not checked; {remedy}", file=sys.stderr)
    return file.checked
