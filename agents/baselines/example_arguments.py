"""Arguments that fit a tool's schema, where nothing better is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from devices.tool import Tool


def with_required(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments, completed with a fitting value for each missing required one."""
    parameters = tool.parameters()
    filled = dict(arguments)
    for name in parameters["required"]:
        if name not in filled:
            filled[name] = fitting_value(parameters["properties"][name])
    return filled


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
    plain: dict[Any, Any] = {"boolean": False, "array": [], "object": {}, "null": None}
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
