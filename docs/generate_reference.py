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
from typing import Any

import click
import typer
from driver_reference import drivers_page
from pydantic import BaseModel

from configs.rigs_loader import RigConfig
from configs.tasks_loader import TaskEntry, TaskLimits
from configs.worlds_loader import load_world, world_names
from core_eval.cli.main import app
from core_eval.log.schema import MIGRATIONS
from core_eval.report.aggregate import DEFAULT_FILE, AggregateFile
from devices.catalog import DEVICE_TYPES
from devices.farm_rover.harm_rules import FARM_HARM_RULES as FARM_HARM
from devices.faults import Fault, FaultRate
from devices.robotic_arm.harm_rules import HARM_RULES as ARM_HARM
from devices.sensors import SensorSpec

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
            rows.append((f"`{name}`" if name else names, text, "yes" if parameter.required else ""))
        if rows:
            parts.append(table(("parameter", "meaning", "required"), rows))
    return "\n".join(parts)


EXIT_STATUSES = """Exit status: 0 done; 1 a threshold given with `--fail-under` was missed; 2 bad usage or
input; 3 the rig, the link or the model failed; 130 interrupted.
"""


def kind(schema: Mapping[str, Any]) -> str:
    """A JSON schema's type, in a word or two."""
    if "anyOf" in schema:
        return " or ".join(kind(option) for option in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "$ref" in schema:
        return str(schema["$ref"].rsplit("/", 1)[-1])
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
        rows.append((f"`{written}`", kind(properties[written]), default, field.description or ""))
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


def config_page() -> str:
    """Task files, rig files and the worlds' initial states."""
    parts = [
        HEAD,
        "# Files\n",
        "## Task files\n\nA task file is a mapping with the key `tasks`, a list of these:\n",
        keys(TaskEntry),
        "`limits`:\n",
        keys(TaskLimits),
        (FOLDER.parent / "plans.md").read_text(encoding="utf-8"),
        "## Rig files\n",
        keys(RigConfig),
        "## Aggregate files\n\nHow agents are compared, for `--aggregate`. The shipped one:\n",
        f"```yaml\n{DEFAULT_FILE.read_text(encoding='utf-8').strip()}\n```\n",
        keys(AggregateFile),
        "## World files\n",
        "A world of one's own names a shipped one as `base`, and below it what differs. The keys of the "
        "initial state, as `--init` and a task's `init` may override them, with the values that ship:\n",
    ]
    for name in world_names():
        state = load_world(name).state.model_dump(mode="json", exclude_none=True)
        parts.append(f"### {name}\n")
        parts.append(
            table(("key", "value"), ((f"`{key}`", f"`{json.dumps(value)}`") for key, value in leaves(state)))
        )
    parts.append("### A sensor\n\n" + inspect.cleandoc(SensorSpec.__doc__ or "") + "\n")
    parts.append(keys(SensorSpec))
    parts.append("### Faults\n\n[How they act](../sensors-and-faults.md). An entry of `faults.schedule`:\n")
    parts.append(keys(Fault))
    parts.append("An entry of `faults.random`:\n")
    parts.append(keys(FaultRate))
    return "\n".join(parts)


def tools_page() -> str:
    """The tool surfaces and the harm rules."""
    parts = [HEAD, "# Tools and harm rules\n"]
    for device, rules in zip(DEVICE_TYPES.values(), (FARM_HARM, ARM_HARM), strict=True):
        parts.append(f"## {device.name}\n\n{device.description}\n")
        rows = []
        for tool in device.tools:
            properties = tool.schema()["function"]["parameters"]["properties"]
            arguments = "; ".join(f"`{name}`: {schema['description']}" for name, schema in properties.items())
            result = ", ".join(f"`{name}`" for name in tool.result.model_fields)
            rows.append((f"`{tool.name}`", tool.effect.value, tool.description, arguments, result))
        parts.append(table(("tool", "effect", "what it does", "arguments", "result"), rows))
        parts.append("Harm rules:\n")
        parts.append(
            table(
                ("kind", "when", "unit", "read in", "exposure in", "counted for at most", "remedy"),
                (
                    (
                        f"`{rule.kind}`",
                        rule.description,
                        rule.unit,
                        rule.unit if rule.shown is None else rule.shown.unit,
                        f"{rule.unit} s".strip() if rule.exposed is None else rule.exposed.unit,
                        f"{rule.follow_s:g} s after its begin, or to the record's end",
                        f"`{rule.remedy.value}`",
                    )
                    for rule in rules
                ),
            )
        )
    return "\n".join(parts)


def log_page() -> str:
    """The log's schema, as SQLite gets it."""
    parts = [HEAD, "# The log\n", LOG_TEXT]
    for version, script in enumerate(MIGRATIONS, 1):
        parts.append(f"## Version {version}\n\n```sql\n{script.strip()}\n```\n")
    return "\n".join(parts)


LOG_TEXT = """One SQLite file: WAL, foreign keys, STRICT tables; `PRAGMA user_version` is the version of the
schema, and older files are brought up to date when they are opened. Times are UTC epoch seconds where the
schema says so, and device time in seconds elsewhere. A row of `step` with its `t_intent` is committed before
the call is sent.
"""

PAGES = {
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
