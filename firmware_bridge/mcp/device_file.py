"""The device file of an MCP server: its tools with typed arguments, their effects by its annotations."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import mcp_types as types
import yaml

from devices.declared.check import TOOL_NAME, name_fault
from devices.tool import Effect, ToolArguments, ToolResult
from firmware_bridge.link import LinkError
from firmware_bridge.mcp.address import parse_mcp_address
from firmware_bridge.mcp.session import McpSession, ServerFacts

KINDS = {
    "number": "number",
    "integer": "integer",
    "string": "text",
    "boolean": "boolean",
    "array": "list",
    "object": "object",
}
UNSTATED = "1"
"""The unit of a number: a JSON schema states none."""
MOST_INLINED = 8
"""Definitions inside one another that are written in place; deeper ones fit anything."""


WRITTEN_APART = ("default", "description")
"""Parts of an argument's schema that have keys of their own."""
LIMITS = {"min": ("minimum", "exclusiveMinimum"), "max": ("maximum", "exclusiveMaximum")}


@dataclass(frozen=True)
class McpDeviceFile:
    """The text of a device file, and the tools that it has no place for, each with the reason."""

    text: str
    left_out: Mapping[str, str]


def device_name(server: str) -> str:
    """Return a device type's name for a server's."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", server).strip("-") or "server"


def describe_server(url: str) -> McpDeviceFile:
    """Connect to the server of an `mcp:` URL, and return its device file; none of its tools is called.

    Raises:
        LinkError: it cannot be reached, or offers no tool that fits.
    """
    session = McpSession(parse_mcp_address(url), lambda tools: None)
    try:
        return device_file(session.open(), url)
    finally:
        session.close()


def device_file(facts: ServerFacts, address: str) -> McpDeviceFile:
    """Return the device file of a server; `address` is shown in its first line.

    Raises:
        LinkError: none of its tools can be written.
    """
    tools: dict[str, Any] = {}
    left_out: dict[str, str] = {}
    for tool in facts.tools:
        fault = _fault(tool)
        if fault is None:
            tools[tool.name] = _tool(tool)
        else:
            left_out[tool.name] = fault
    if not tools:
        reasons = "; ".join(f"{name}: {why}" for name, why in left_out.items())
        raise LinkError(f"{address}: no tool of {facts.name} fits a device file: {reasons}")
    data: dict[str, Any] = {
        "name": device_name(facts.name),
        "description": f"The tools of the MCP server {facts.name} {facts.version}".strip() + ".",
    }
    if facts.instructions.strip():
        data["advice"] = " ".join(facts.instructions.split())
    lines = [
        f"# The tools of {address}, as it lists them.",
        "# Effects are the server's own hints: correct those that are wrong.",
        *(f"# Left out: {name}, since {why}." for name, why in left_out.items()),
        yaml.safe_dump(data | {"tools": tools}, sort_keys=False, allow_unicode=True, width=110),
    ]
    return McpDeviceFile("\n".join(lines), left_out)


def _fault(tool: types.Tool) -> str | None:
    if not TOOL_NAME.fullmatch(tool.name):
        return "its name is not of letters, digits, _, . and - with a letter first"
    for name in tool.input_schema.get("properties") or {}:
        fault = name_fault(name, ToolArguments)
        if fault is not None:
            return f"its argument {fault}"
    return None


def _tool(tool: types.Tool) -> dict[str, Any]:
    hints = tool.annotations or types.ToolAnnotations()
    reads = bool(hints.read_only_hint)
    schema = tool.input_schema
    required = schema.get("required") or ()
    text = " ".join((tool.description or tool.title or tool.name.replace("_", " ")).split())
    entry: dict[str, Any] = {"description": text, "effect": str(Effect.READ if reads else Effect.WRITE)}
    if not reads:
        # The protocol's own defaults, where the server gives no hint.
        entry["destructive"] = hints.destructive_hint is not False
        entry["idempotent"] = bool(hints.idempotent_hint)
    definitions = schema.get("$defs") or schema.get("definitions") or {}
    arguments = {
        name: _argument(name, _inlined(part, definitions), name in required)
        for name, part in (schema.get("properties") or {}).items()
    }
    if arguments:
        entry["arguments"] = arguments
    entry["result"] = _result(tool.output_schema)
    return entry


def _argument(name: str, schema: Mapping[str, Any], required: bool) -> dict[str, Any]:
    schema, nullable = _without_null(schema)
    entry = _quantity(schema)
    notes = [f"{key} {schema[key]}" for key in ("format", "pattern") if isinstance(schema.get(key), str)]
    text = str(schema.get("description") or schema.get("title") or name.replace("_", " "))
    entry["description"] = "; ".join([" ".join(text.split()), *notes])
    if entry.get("type") in ("number", "integer") and "choices" not in entry:
        entry["unit"] = UNSTATED
    if entry.get("type") in ("list", "object", "json"):
        entry["schema"] = {one: part for one, part in schema.items() if one not in WRITTEN_APART}
    default = schema.get("default")
    if not required:
        if _fits(entry, default):
            entry["default"] = default
        else:
            entry["optional"] = True
    elif nullable and "schema" not in entry:
        # Required, and may be null.
        entry = {"type": "json", "schema": dict(schema), "description": entry["description"]}
    return entry


def _quantity(schema: Mapping[str, Any]) -> dict[str, Any]:
    choices = [schema["const"]] if "const" in schema else schema.get("enum")
    kind = KINDS.get(str(schema.get("type")), "json")
    if choices is not None:
        kinds = {_kind_of(choice) for choice in choices}
        only = kinds.pop() if len(kinds) == 1 else None
        return {"type": "json"} if only is None else {"type": only, "choices": list(choices)}
    entry: dict[str, Any] = {"type": kind}
    if kind in ("number", "integer"):
        for key, names in LIMITS.items():
            found = [schema[name] for name in names if isinstance(schema.get(name), int | float)]
            if found and not isinstance(found[0], bool):
                entry[key] = found[0]
    return entry


def _kind_of(value: Any) -> str | None:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    return "text" if isinstance(value, str) else None


def _fits(entry: Mapping[str, Any], default: Any) -> bool:
    """Return whether a default can stand in the file: a single value of the argument's type and bounds."""
    kind = _kind_of(default)
    if kind is None or ("choices" in entry and default not in entry["choices"]):
        return False
    if kind in ("integer", "number"):
        whole = kind == "integer" or entry["type"] != "integer"
        inside = entry.get("min", default) <= default <= entry.get("max", default)
        return entry["type"] in ("integer", "number") and whole and inside
    return bool(kind == entry["type"])


def _result(schema: Mapping[str, Any] | None) -> Any:
    if schema is None or schema.get("type") != "object" or schema.get("additionalProperties"):
        return "any"
    properties = schema.get("properties") or {}
    definitions = schema.get("$defs") or schema.get("definitions") or {}
    if not properties or any(name_fault(name, ToolResult) for name in properties):
        return "any"
    required = schema.get("required") or ()
    parts: dict[str, Any] = {}
    for name, part in properties.items():
        plain, nullable = _without_null(_inlined(part, definitions))
        entry = {"type": KINDS.get(str(plain.get("type")), "json")}
        description = plain.get("description")
        parts[name] = entry | ({"description": description} if isinstance(description, str) else {})
        if nullable or name not in required:
            parts[name]["optional"] = True
    return parts


def _without_null(schema: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return a schema without its null, and whether it had one."""
    kinds = schema.get("type")
    if isinstance(kinds, list) and "null" in kinds:
        others = [kind for kind in kinds if kind != "null"]
        return {**schema, "type": others[0] if len(others) == 1 else others}, True
    for key in ("anyOf", "oneOf"):
        options = schema.get(key)
        if isinstance(options, Sequence) and {"type": "null"} in options:
            others = [option for option in options if option != {"type": "null"}]
            rest = {name: value for name, value in schema.items() if name != key}
            return ({**others[0], **rest} if len(others) == 1 else {**rest, key: others}), True
    return dict(schema), False


def _inlined(schema: Any, definitions: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """Return a schema with its definitions in place, since an argument's schema stands alone."""

    def inside(value: Any) -> Any:
        if isinstance(value, dict):
            return _inlined(value, definitions, depth)
        return [inside(item) for item in value] if isinstance(value, list) else value

    if not isinstance(schema, dict):
        return {}
    reference = schema.get("$ref")
    if isinstance(reference, str):
        name = reference.rpartition("/")[2]
        if depth >= MOST_INLINED or name not in definitions:
            return {}
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return _inlined(definitions[name], definitions, depth + 1) | rest
    return {key: inside(value) for key, value in schema.items()}
