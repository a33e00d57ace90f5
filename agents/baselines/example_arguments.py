"""Arguments that fit a tool's schema, where nothing better is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core_eval.path.calls import Call
from core_eval.path.patterns import Excluded
from core_eval.path.symbols import Symbol
from devices.tool import Tool


def example_call(symbol: Symbol, tool: Tool | None) -> Call:
    """Return a call of a symbol.

    Given the tool, arguments that the symbol leaves open are there where the tool requires them, and those
    for which it excludes values fit the tool's schema.
    """
    arguments = symbol.example()
    parameters = {"required": [], "properties": {}} if tool is None else tool.parameters()
    for name, schema in parameters["properties"].items():
        pattern = symbol.arguments.get(name)
        if isinstance(pattern, Excluded):
            fitting = (*schema.get("enum", ()), arguments[name], fitting_value(schema))
            alike = (value for value in fitting if pattern.holds(value) and _suits(schema, value))
            arguments[name] = next(alike, arguments[name])
        elif name in parameters["required"] and name not in arguments:
            arguments[name] = fitting_value(schema)
    return Call(symbol.tool, arguments, asks=symbol.fact)


def _suits(schema: Mapping[str, Any], value: Any) -> bool:
    """Return whether a value is one of a schema's enumeration, and text where the schema wants text."""
    in_enum = value in schema["enum"] if "enum" in schema else True
    return in_enum and ("type" not in schema or (schema["type"] == "string") == isinstance(value, str))


def fitting_value(schema: Mapping[str, Any]) -> Any:
    """Return a value of a JSON schema's type within its bounds: as near to zero as they allow."""
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    if schema.get("anyOf"):
        return fitting_value(schema["anyOf"][0])
    kind = schema.get("type")
    if kind in ("number", "integer"):
        return _nearest_zero(schema, whole=kind == "integer")
    if kind == "array":
        return [fitting_value(schema.get("items", {}))] * schema.get("minItems", 0)
    plain: dict[Any, Any] = {"boolean": False, "object": {}, "null": None}
    return plain.get(kind, "x")


def _nearest_zero(schema: Mapping[str, Any], *, whole: bool) -> float:
    step = 1 if whole else 0.1
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    value: float = 0 if whole else 0.0
    if low is not None and value <= low:
        value = low + step if "exclusiveMinimum" in schema else low
    if high is not None and value >= high:
        value = high - step if "exclusiveMaximum" in schema else high
    if low is not None and high is not None and not low <= value <= high:
        value = (low + high) / 2
    return value
