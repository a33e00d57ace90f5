"""The options of `pathrig run`, in their groups; some are those of `mcp`, `gate` and `demo` too."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated

import typer
from typer.models import OptionInfo

from agents.options import LIMITS, ModelOptions, make_options, merged
from agents.registry import ParsedSpec, parse_spec
from configs.task_entry import TaskLimits
from configs.yaml_file import nearest
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
Seed = Annotated[int, option(WHAT, "Seed of the first episode; then S + 1, ...", metavar="S")]
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
    option(RIG, "Serve a page with approval and stop button.", metavar="[HOST:PORT]"),
]
AnswerTimeout = Annotated[
    float, option(RIG, "Seconds for an answer there, then it is no.", metavar="S", min=1.0)
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


WHOLE = frozenset({"extra_body", "header", "name", "system_prompt"})
"""Options whose text may hold a comma: they take one value."""
EPISODE_LIMITS = {"max_steps": "steps", "max_tokens": "output_tokens", "max_seconds": "seconds"}
"""Options that limit agents which are no models, too."""


def parse_settings(texts: Sequence[str]) -> dict[str, list[str]]:
    """Return the values of each KEY=VALUE[,VALUE].

    Raises:
        UsageError: a text has another form, or a key is given twice.
    """
    found: dict[str, list[str]] = {}
    for text in texts:
        key, mark, value = text.partition("=")
        if not mark or not key:
            raise UsageError(f"--set {text!r}: write KEY=VALUE, or KEY=VALUE,VALUE for several")
        if key in found:
            raise UsageError(f"--set {key}: is given twice; write --set {key}=VALUE,VALUE")
        found[key] = [value] if key in WHOLE else value.split(",")
    return found


def with_settings(agents: Sequence[str], settings: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the agents' specifications in canonical form, each model with every combination of the values.

    Args:
        agents: the specifications as they were given; one that is no model stays as it is, and a model that
            does not take an option runs without it.
        settings: options to values.

    Raises:
        UsageError: no agent takes one of the options.
        AgentSpecError: a specification or a value is invalid.
    """
    parsed = [parse_spec(spec) for spec in agents]
    for key in settings:
        if key not in EPISODE_LIMITS and not any(_takes(one, key) for one in parsed):
            there = nearest(list(ModelOptions.model_fields), key)
            raise UsageError(f"--set {key}: none of the agents takes it; models take {there}")
    return list(dict.fromkeys(spec for one in parsed for spec in _variants(one, settings)))


def episode_limits(settings: Mapping[str, Sequence[str]]) -> TaskLimits:
    """Return the limits among the settings, which hold for agents of all kinds.

    Raises:
        AgentSpecError: a value is invalid.
    """
    given = {key: settings[key][0] for key in EPISODE_LIMITS if len(settings.get(key, ())) == 1}
    options = make_options("--set of an", given, LIMITS)
    return TaskLimits(**{limit: getattr(options, key) for key, limit in EPISODE_LIMITS.items()})


def _variants(one: ParsedSpec, settings: Mapping[str, Sequence[str]]) -> list[str]:
    if one.options is None or one.form.model is None:
        return [one.text()]
    taken = {key: values for key, values in settings.items() if _takes(one, key)}
    found = []
    for values in product(*taken.values()):
        given = make_options(one.name, dict(zip(taken, values, strict=True)), one.form.model.options)
        found.append(ParsedSpec(one.name, one.form, one.rest, merged(one.options, given)).text())
    return found


def _takes(one: ParsedSpec, key: str) -> bool:
    return one.form.model is not None and (key in one.form.model.options or key == "name")


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
