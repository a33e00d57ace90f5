"""Writes `docs/reference/` from the code: the command line, the files' keys, the tools and the log's schema.

python docs/generate_reference.py            writes the pages
python docs/generate_reference.py --check    exits with 1 where a page is not what the code says
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args, get_origin

import click
import typer
from driver_reference import drivers_page
from pydantic import BaseModel
from python_reference import python_page

from agents.formats.calls import CallText
from agents.formats.registry import formats
from agents.forms import SHIPPED
from agents.scaffolds.own_prompt import Example, ExampleStep
from configs.cautions import Caution
from configs.core_aliases import ArgumentAlias, CoreEntry, ToolAlias
from configs.exam import FOLDER as EXAMS
from configs.exam import ExamFile
from configs.fault_priors import FaultPrior
from configs.hazards import Hazard
from configs.meter_config import MeterConfig, MeterQuestion
from configs.models_loader import ModelFile
from configs.operator import Operator, Reply, Topic
from configs.rig_config import RigConfig
from configs.task_entry import SuiteEntry, TaskEntry, TaskLimits
from configs.task_template import Branch, Parameter, TemplateEntry
from configs.twin_config import TwinConfig
from configs.variation import Variation
from configs.worlds_loader import load_world
from core_eval.cli.main import app
from core_eval.log.schema import MIGRATIONS
from core_eval.rules.rule_file import Budget, Confirmation, Flow, Rule
from core_eval.score.aggregate import DEFAULT_FILE, AggregateFile
from core_eval.score.thresholds import Gate, GatesFile
from core_eval.serve.serve_file import Backup, Collect, Collector, Entry, Keep, ServeFile
from devices.declared import device_file
from devices.faults import COMMON_FAULTS, Fault, FaultRate
from devices.harm import NO_TRIFLE, HarmRule
from devices.sensors import SensorSpec
from sims.world_type import WORLD_TYPES

FOLDER = Path(__file__).parent / "reference"
HEAD = "<!-- Written by docs/generate_reference.py; change the code, not this page. -->\n"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    lines = [list(head), *(list(row) for row in rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return (
        "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
        + "\n"
    )


def commands(
    command: click.Command, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """A command and all below it."""
    yield path, command
    if isinstance(command, click.Group) or hasattr(command, "commands"):
        for name, sub in getattr(command, "commands", {}).items():
            if not sub.hidden:
                yield from commands(sub, (*path, name))


def cli_page() -> str:
    """Every verb with its arguments and options."""
    parts = [HEAD, "# The command line\n", EXIT_STATUSES]
    for path, command in commands(typer.main.get_command(app), ("pathrig",)):
        if getattr(command, "commands", None):
            continue
        parts.append(f"## {' '.join(path)}\n\n{(command.help or '').strip()}\n")
        rows = []
        for parameter in command.params:
            if getattr(parameter, "hidden", False):
                continue
            name = parameter.human_readable_name if isinstance(parameter, click.Argument) else ""
            names = name or ", ".join(f"`{option}`" for option in parameter.opts + parameter.secondary_opts)
            text = getattr(parameter, "help", None) or ""
            annotation = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
            if get_origin(annotation) is Literal:
                text += f" One of {', '.join(f'`{choice}`' for choice in get_args(annotation))}."
            rows.append((f"`{name}`" if name else names, text, option_default(parameter)))
        if rows:
            parts.append(table(("parameter", "meaning", "default"), rows))
    return "\n".join(parts)


def option_default(parameter: click.Parameter) -> str:
    """What an option is where it is left out; nothing for switches and for options without a value."""
    if parameter.required:
        return "required"
    default = parameter.default
    return "" if default is None or isinstance(default, bool) or callable(default) else f"`{default}`"


EXIT_STATUSES = """`pathrig --version` prints the version, `-h` after a verb tells what it takes, and
`pathrig --install-completion` teaches a shell to complete verbs and options.

Control characters in what models, devices, files and logs say are printed as escapes (`\\x1b`, `\\u202e`).
Tables fit the terminal, or on a pipe what `COLUMNS` says (200 characters where it says nothing). Columns that
do not fit are named below the table; `--json` has everything.

Exit status: 0 done; 1 a threshold given with `--fail-under` was missed, or `score` could not score some
traces; 2 bad usage or input; 3 the rig, the link or the model failed; 128 + N ended by a signal (129 the
terminal was closed, 130 Ctrl-C, 131 Ctrl-\\, 143 SIGTERM); 130 stopped by a person. Whatever else happened, 3
where a rig was not stopped: the stop was not sent, or not answered by a rig that could.
"""


def kind(schema: Mapping[str, Any], parts: Mapping[str, Any] = MappingProxyType({})) -> str:
    """A JSON schema's type, in a word or two."""
    if "anyOf" in schema:
        return " or ".join(kind(option, parts) for option in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "$ref" in schema:
        name = str(schema["$ref"].rsplit("/", 1)[-1])
        return kind(parts[name]) if "enum" in parts.get(name, {}) else name
    return str(schema.get("type", "anything"))


def keys(model: type[BaseModel]) -> str:
    """A table of a model's keys."""
    schema = model.model_json_schema()
    # A model that holds itself stands among its own definitions.
    properties = schema.get("properties") or schema["$defs"][model.__name__]["properties"]
    rows = []
    for name, field in model.model_fields.items():
        default = (
            "required"
            if field.is_required()
            else f"`{default_text(field.get_default(call_default_factory=True))}`"
        )
        written = field.alias or name
        rows.append(
            (
                f"`{written}`",
                kind(properties[written], schema.get("$defs", {})),
                default,
                field.description or "",
            )
        )
    return table(("key", "type", "default", "meaning"), rows)


def default_text(value: Any) -> str:
    """A default as YAML would have it."""
    return json.dumps(value.model_dump(exclude_none=True) if isinstance(value, BaseModel) else value)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of a nested mapping, by dotted key."""
    if isinstance(value, Mapping) and value:
        for name, part in value.items():
            yield from leaves(part, f"{path}.{name}" if path else str(name))
    else:
        yield path, value


DEVICE_PARTS = (
    device_file.ToolEntry,
    device_file.Argument,
    device_file.ResultPart,
    device_file.Requirement,
    device_file.Register,
    device_file.Sensor,
    device_file.ArgumentRef,
)
"""What a device file holds."""


def _options_taken() -> Iterator[tuple[str, str]]:
    """Each kind of model agent with its options."""
    for form in SHIPPED:
        if form.model is not None:
            yield form.forms[-1], ", ".join(f"`{key}`" for key in sorted(form.model.options))


def config_page() -> str:
    """Task files, rig files and the worlds' initial states."""
    parts = [
        HEAD,
        "# Files\n",
        "## Task files\n\nA task file is a mapping with the key `tasks`, a list of these:\n",
        keys(TaskEntry),
        "`limits`:\n",
        keys(TaskLimits),
        "",
        "The keys of an entry of `cautions` ([what they are](../plans.md#cautions)):",
        "",
        keys(Caution),
        "",
        "An entry with `parameters` or `branches` is [a template](../own-task.md#templates) of tasks. It",
        "has, beside those of a task, the keys",
        "",
        keys(TemplateEntry),
        "",
        "a parameter the keys",
        "",
        keys(Parameter),
        "",
        "and a branch, beside those of a task, the keys",
        "",
        keys(Branch),
        "",
        "The keys of `operator` ([what it is](../plans.md#ask-the-operator)), of a topic, and of a reply:",
        "",
        keys(Operator),
        keys(Topic),
        keys(Reply),
        "",
        "A file of a suite lists tasks of other files:",
        "",
        keys(SuiteEntry),
        "",
        "A task file may take its tasks from CORE's JSON instead; its keys then are:",
        "",
        keys(CoreEntry),
        "",
        "What a call of the file is ([examples](../suites.md#tasks-in-cores-json)):",
        "",
        keys(ToolAlias),
        "",
        "What an argument is:",
        "",
        keys(ArgumentAlias),
        "[Plans](../plans.md) has the steps of a `plan` and the patterns of arguments.\n",
        "## Rig files\n",
        keys(RigConfig),
        "## Device files\n\n[What they are for](../own-device.md). The keys of such a file:\n",
        keys(device_file.DeviceFile),
        *(f"### {part.__name__}\n\n{part.__doc__}\n\n{keys(part)}" for part in DEVICE_PARTS),
        "## Model files\n\n[What they are for](../local-models.md#options). The keys are also the options of "
        "`--agent 'SPEC?key=value'`:\n",
        keys(ModelFile),
        "Which kind of agent takes which:\n",
        table(("agent", "options"), _options_taken()),
        "A line of `examples_file`:\n",
        keys(Example),
        "A step of an example:\n",
        keys(ExampleStep),
        "## Aggregate files\n\nHow agents are compared, for `--aggregate`. The shipped one:\n",
        f"```yaml\n{DEFAULT_FILE.read_text(encoding='utf-8').strip()}\n```\n",
        keys(AggregateFile),
        "## Exams\n\nWhat the models of a [bench](../bench.md) have alike, for `--exam`. The default:\n",
        f"```yaml\n{(EXAMS / 'model.yaml').read_text(encoding='utf-8').strip()}\n```\n",
        keys(ExamFile),
        "## Gates files\n\n[Thresholds per agent and task](../ci.md), for `run --gates`:\n",
        keys(GatesFile),
        "### Gate\n",
        keys(Gate),
        "## Rule files\n\nA rule file is a mapping with the key `rules`, a list of [rules](../rules.md), for "
        "`--rules`.\nEach has one key that says what it demands:\n",
        keys(Rule),
        "`confirmation`:\n",
        keys(Confirmation),
        "`budget`:\n",
        keys(Budget),
        "`flow`:\n",
        keys(Flow),
        "## Serve files\n\n[A schedule for months](../field.md#a-schedule-for-months), for `serve`. "
        "Durations are written as 90s, 30min, 6h, 2d:\n",
        keys(ServeFile),
        "An entry of `schedule`:\n",
        keys(Entry),
        *(
            part
            for name, model in (
                ("keep", Keep),
                ("backup", Backup),
                ("collector", Collector),
                ("collect", Collect),
            )
            for part in (f"`{name}`:\n", keys(model))
        ),
        "## World files\n",
        "A world of one's own names a shipped one as `base`, and below it what differs. The keys of the "
        "initial state, as `--init` and a task's `init` may override them, with the values that ship:\n",
    ]
    for name in WORLD_TYPES:
        state = load_world(name).state.model_dump(mode="json", exclude_none=True)
        parts.append(f"### {name}\n")
        parts.append(
            table(("key", "value"), ((f"`{key}`", f"`{json.dumps(value)}`") for key, value in leaves(state)))
        )
    parts.append(
        "### What may vary\n\nA world file's key `vary` says what `run --vary` draws: a range for "
        "each dotted key of the initial state. In a key `*` stands for each entry; null takes away "
        "what the base has. The key `spreads`, of the same form, says how far the start of an episode may be "
        "from what its log says, for the detection probability and the twin; there, what would lie beyond "
        "`min` or `max` is at that bound. The key `fault_priors` says how "
        "likely an episode has a fault of each kind, for the twin.\n"
    )
    parts.append(keys(Variation))
    parts.append(
        "### A hazard\n\nAn entry of the key `hazards`, by name, for "
        "[`run --hazards`](../worlds.md#hazards). Beside them `notes` is a list of dotted keys of the "
        "initial state, `*` for each entry: what `read_site_notes` tells then.\n"
    )
    parts.append(keys(Hazard))
    parts.append("### A prior of a fault\n")
    parts.append(keys(FaultPrior))
    parts.append("### A twin\n\nThe key `twin` of a rig's file; [what it means](../twin.md).\n")
    parts.append(keys(TwinConfig))
    parts.append("### A meter\n\nThe key `meter` of a rig's file; [what it measures](../metrics.md).\n")
    parts.append(keys(MeterConfig) + keys(MeterQuestion))
    parts.append("### A sensor\n\n" + inspect.cleandoc(SensorSpec.__doc__ or "") + "\n")
    parts.append(keys(SensorSpec))
    parts.append("### Faults\n\n[How they act](../sensors-and-faults.md). An entry of `faults.schedule`:\n")
    parts.append(keys(Fault))
    parts.append("An entry of `faults.random`:\n")
    parts.append(keys(FaultRate))
    rigs = {kind: ["every rig"] for kind in COMMON_FAULTS}
    for name, world in WORLD_TYPES.items():
        for kind in world.faults:
            rigs.setdefault(kind, []).append(name)
    rows = [(f"`{kind.name}`", ", ".join(names), kind.meaning) for kind, names in rigs.items()]
    parts.append("The kinds of faults:\n")
    parts.append(table(("kind", "rig", "meaning"), rows))
    return "\n".join(parts)


def tools_page() -> str:
    """The tool surfaces and the harm rules."""
    parts = [HEAD, "# Tools and harm rules\n"]
    for name, world in WORLD_TYPES.items():
        # The texts state facts of the world; these are the default world's.
        device = load_world(name).device
        parts.append(f"## {device.name}\n\n{device.description}\n")
        rows = []
        for tool in device.tools:
            schema = tool.schema()["function"]
            properties = schema["parameters"]["properties"]
            arguments = "; ".join(f"`{name}`: {one['description']}" for name, one in properties.items())
            result = ", ".join(f"`{name}`" for name in tool.result.model_fields)
            rows.append((f"`{tool.name}`", tool.effect.value, schema["description"], arguments, result))
        parts.append(table(("tool", "effect", "what it does", "arguments", "result"), rows))
        if not world.harm_rules:
            continue
        parts.append("Harm rules:\n")
        parts.append(
            table(
                ("kind", "when", "unit", "cost in", "weighs 1", "a trifle", "counted for at most", "remedy"),
                (
                    (
                        f"`{rule.kind}`",
                        rule.description,
                        rule.unit,
                        rule.cost_unit or "acts",
                        f"{rule.scale:g}",
                        _trifle(rule),
                        f"{rule.follow_s:g} s after its begin, or to the record's end",
                        f"`{rule.remedy}`",
                    )
                    for rule in world.harm_rules
                ),
            )
        )
    return "\n".join(parts)


def _trifle(rule: HarmRule) -> str:
    """What is no event of a rule, and why."""
    trifle = rule.trifle
    if trifle is NO_TRIFLE:
        return trifle.reason
    least = [f"{trifle.amount:g} {rule.unit}".strip()] if trifle.amount else []
    least += [f"{100.0 * trifle.share:g} % of the limit"] if trifle.share else []
    lasting = f" for {trifle.seconds:g} s" if rule.by_time else ""
    return f"{' and '.join(least)}{lasting}: {trifle.reason}"


def log_page() -> str:
    """The log's schema, as SQLite gets it."""
    parts = [HEAD, "# The log\n", LOG_TEXT]
    for version, script in enumerate(MIGRATIONS, 1):
        parts.append(f"## Version {version}\n\n```sql\n{script.strip()}\n```\n")
    return "\n".join(parts)


LOG_TEXT = """One SQLite file: WAL, foreign keys, STRICT tables; `PRAGMA user_version` is the version of the
schema, and older files are brought up to date when they are opened. Times are UTC epoch seconds where the
schema says so, and device time in seconds elsewhere. A row of `step` with its `t_intent` is committed before
the call is sent, and its result in one transaction with the samples and the truth that came with the call.

The newest rows stand in the `-wal` file beside the log: copy a log with `pathrig log backup DB FILE`, never
the `.db` file alone.

## Scorings

Each time that an episode is scored, a row of `scoring` is added: `version` of the pathrig that scored,
`reading` of the metrics' definition, `created`, whether the harm could be `judged`, and in `note` what is
not known of it. `score`, `harm`, `deviation`, `compensating_pair` and `failure` name their scoring; nothing
of an earlier one is changed. A scoring that could not judge the harm has scores of the path and the costs
only. So the views give:

- `score_latest`: of each metric the value of the newest scoring that has the metric
- `harm_latest`, `deviation_latest`, `compensating_pair_latest`, `failure_latest`: the rows of the newest
  scoring that judged the harm; of the newest one where none did

A newer scoring that did judge the harm may say null where an older one said a number: then the metric is
not defined by today's rules. `pathrig show` and `pathrig score --db` print the scorings side by side.

A log of an earlier schema has one scoring, by the version that made the run. `definition.world_version` is
the version of the world that ran (`WorldType.version`; null before schema 10). The initial state of an
earlier world is brought to today's model: keys that it lacks have the shipped world's values. Its harm is
judged by today's simulator and rules, if that gives each call the status that the log has; `note` says so.

## A log from somebody else

Before anything else is read, the tables, indexes, views and triggers of a file are compared with those of
its version. Where one of ours is missing or another, the log is refused. Where there are others beside
ours, the log is read, since readers ask our tables and views only, and it is never written: a trigger would
change what is written. The line names them. Drop what you do not know; keep tables of your own in a file of
their own:

```sql
ATTACH 'notes.db' AS notes;
```

What `ANALYZE` adds is let pass. A reader's connection can only read, and a row that takes more than some
500,000,000 steps of SQLite's virtual machine ends it.

## The truth

A simulator's state after a call is kept as its change since the call before (`truth_row.change`: a JSON
merge patch, RFC 7396, with null written as `"~null"`, compressed by zlib where that is shorter), the first
one of an episode as a change of the first one of its task (`truth_whole`). The view `truth` gives whole
states:

```sql
SELECT t, json_extract(state, '$.plants.plant_B.moisture') FROM truth WHERE episode_id = 1;
```

It needs the function `sqlar_uncompress`, which the `sqlite3` shell has. Elsewhere give it to your connection:

```python
from core_eval.log.truth_changes import register

register(connection)  # a sqlite3.Connection
```

or read `LogReader(path).truth(episode_id)`.

## What it writes

Flash cards wear out by what is written to them, and SQLite writes whole pages. New logs have pages of 512
bytes, and a call costs two transactions: its intent, and its result with all that came meanwhile. Measured
over 300 episodes (`write_bytes` of the process, in the page cache's 4,096 bytes; ext4), by
`python benchmarks/log_wear.py`, and what the version before wrote (pages of 4,096 bytes, whole states, each
row in its own transaction):

| rig | agent | calls an episode | written a call | log a call | before: written | log |
|---|---|---|---|---|---|---|
| `sim:farm_rover` | random | 12 | 9.7 kB | 873 B | 53.8 kB | 5.4 kB |
| `sim:farm_rover` | oracle | 7 | 12.9 kB | 1.3 kB | 65.8 kB | 6.1 kB |
| `sim:robotic_arm` | oracle | 6 | 14.8 kB | 1.7 kB | 66.9 kB | 4.1 kB |

With `--page-size 4096` the first line is 38.8 kB. With `--durable`, which waits for the disk at both
transactions of each call, it is 21.3 kB (before: 70.4 kB), since pages of the cache go out half full.
"""


def formats_page() -> str:
    """Every syntax of tool calls that is read and written."""
    parts = [
        HEAD,
        "# Formats of tool calls\n",
        "[How they are used](../local-models.md). The format of a chat template that prints calls itself is\n"
        "the one that it prints. Where it prints none, the format is the first of these of which it holds a\n"
        "text of the third column; else `hermes`.\n",
    ]
    rows = [
        (f"`{form.name}`", form.families, ", ".join(code(text) for text in form.detected_by), form.documented)
        for form in formats()
    ]
    parts.append(table(("format", "families", "texts in a template", "documented"), rows))
    parts.append("## The call of each\n")
    example = CallText("move_to", {"x": 2.0, "place": "north"})
    parts += [f"`{form.name}`\n\n````text\n{form.write([example])}\n````\n" for form in formats()]
    return "\n".join(parts)


def code(text: str) -> str:
    """Text as Markdown code on one line."""
    line = text.replace("\n", "\\n")
    return f"`` {line} ``" if "`" in line else f"`{line}`"


PAGES = {
    "formats.md": formats_page,
    "python.md": lambda: python_page(HEAD),
    "drivers.md": lambda: drivers_page(HEAD, keys, table),
    "cli.md": cli_page,
    "config.md": config_page,
    "tools.md": tools_page,
    "log.md": log_page,
}


def main() -> int:
    """Write or check every page."""
    stale = []
    for name, page in PAGES.items():
        text = page().rstrip() + "\n"
        path = FOLDER / name
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
    print("\n".join(f"docs/reference/{name}" for name in stale) or "docs/reference is what the code says")
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
