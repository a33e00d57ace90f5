"""Tools in few tokens: name, description, and a line for each argument, in place of a JSON schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.formats.calls import to_json

SIGNATURES, SCHEMAS = "signatures", "schemas"
"""How tools are shown, as the log has it."""


def signature(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a function schema in short: `{"name", "description", "parameters": {NAME: "TYPE: TEXT"}}`."""
    function = schema["function"]
    short = {"name": function["name"], "description": function.get("description", "")}
    parameters = function.get("parameters") or {}
    required = parameters.get("required") or ()
    lines = {
        name: _line(argument, name in required)
        for name, argument in (parameters.get("properties") or {}).items()
    }
    return {**short, "parameters": lines} if lines else short


def _line(argument: Mapping[str, Any], required: bool) -> str:
    text = type_text(argument)
    if not required:
        text += f", default {to_json(argument['default'])}" if "default" in argument else ", optional"
    return f"{text}: {argument['description']}" if argument.get("description") else text


def type_text(schema: Mapping[str, Any]) -> str:
    """Return the values that a JSON schema takes, in a few words."""
    if "const" in schema:
        return to_json(schema["const"])
    if schema.get("enum"):
        return " | ".join(map(to_json, schema["enum"]))
    if schema.get("anyOf"):
        return " | ".join(map(type_text, schema["anyOf"]))
    kind = schema.get("type")
    if kind == "array" and isinstance(schema.get("items"), Mapping):
        return f"array of {type_text(schema['items'])}"
    if kind == "object" and schema.get("properties"):
        return to_json({name: type_text(inner) for name, inner in schema["properties"].items()})
    if kind == "integer" and "minimum" in schema and "maximum" in schema:
        return f"integer {schema['minimum']} to {schema['maximum']}"
    return kind if isinstance(kind, str) else "any"
