"""Checks a device file beyond the types of its keys: undefined names, impossible values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from core_eval.path.patterns import Exact, OneOf, Pattern, parse_pattern
from core_eval.text.values import is_number
from devices.declared.device_file import (
    Argument,
    ArgumentRef,
    DeviceFile,
    Kind,
    Quantity,
    Register,
    ToolEntry,
)
from devices.tool import Effect, ToolArguments, ToolResult

Place = tuple[str | int, ...]
Fault = tuple[Place, str]
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)
TOOL_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*", re.ASCII)


def device_faults(device: DeviceFile) -> Iterator[Fault]:
    """Yield every fault, with its place in the file."""
    for name, register in device.registers.items():
        at: Place = ("registers", name)
        yield from _name(name, at)
        yield from _quantity(register, at)
        if register.after_stop is not None:
            yield from _value(register, register.after_stop, (*at, "after_stop"))
    for name, sensor in device.sensors.items():
        yield from _register(device, sensor.register_name, ("sensors", name, "register"))
    for name, tool in device.tools.items():
        if not TOOL_NAME.fullmatch(name):
            yield ("tools", name), f"{name!r} is no name: letters, digits, _, . and -, a letter first"
        yield from _tool(device, tool, ("tools", name))


def _tool(device: DeviceFile, tool: ToolEntry, at: Place) -> Iterator[Fault]:
    for name, argument in tool.arguments.items():
        there: Place = (*at, "arguments", name)
        yield from _name(name, there, ToolArguments)
        yield from _quantity(argument, there)
        if not argument.description and not argument.unit:
            yield there, "needs a description: a model knows the argument by nothing else"
        if argument.json_schema is not None and argument.kind not in ("list", "object", "json"):
            yield (*there, "schema"), f"is for a list, an object or json, and this is of type {argument.kind}"
        if argument.optional and argument.default is not None:
            yield (*there, "optional"), "an argument with a default may be left out anyway, remove it"
        if argument.default is not None:
            yield from _value(argument, argument.default, (*there, "default"))
    for name, part in tool.result_parts.items():
        there = (*at, "result", name)
        yield from _name(name, there, ToolResult)
        yield from _quantity(part, there)
        yield from _register(device, part.register_name, (*there, "register"))
    if tool.inverse is not None and tool.inverse not in device.tools:
        yield (*at, "inverse"), f"no such tool; there are {', '.join(device.tools)}"
    if tool.effect is Effect.READ and tool.sets:
        yield (*at, "sets"), "a tool with effect read changes nothing: write the effect as write"
    for name, value in tool.sets.items():
        there = (*at, "sets", name)
        yield from _register(device, name, there)
        if isinstance(value, ArgumentRef):
            yield from _argument(tool, value.argument, there)
        elif name in device.registers:
            yield from _value(device.registers[name], value, there)
    for index, requirement in enumerate(tool.requires):
        there = (*at, "requires", index)
        for name, written in requirement.registers.items():
            here: Place = (*there, "registers", name)
            yield from _register(device, name, here)
            yield from _pattern(device.registers.get(name), written, here)
        for name, written in requirement.when.items():
            here = (*there, "when", name)
            yield from _argument(tool, name, here)
            yield from _pattern(tool.arguments.get(name), written, here)
    for name, written in tool.limits.items():
        there = (*at, "limits", name)
        yield from _argument(tool, name, there)
        yield from _pattern(tool.arguments.get(name), written, there)


def name_fault(name: str, model: type[ToolArguments | ToolResult] | None = None) -> str | None:
    """Return why a name cannot be used, for a field of this model; None if it can."""
    if not NAME.fullmatch(name):
        return f"{name!r} is no name: letters, digits and _, a letter first"
    if model is not None and hasattr(model, name):
        return f"{name!r} is a reserved name, choose another"
    return None


def _name(name: str, at: Place, model: type[ToolArguments | ToolResult] | None = None) -> Iterator[Fault]:
    fault = name_fault(name, model)
    if fault is not None:
        yield at, fault


def _register(device: DeviceFile, name: str | None, at: Place) -> Iterator[Fault]:
    if name is not None and name not in device.registers:
        yield at, f"no register {name!r}; there are {_listed(device.registers)}"


def _argument(tool: ToolEntry, name: str, at: Place) -> Iterator[Fault]:
    if name not in tool.arguments:
        yield at, f"the tool has no argument {name!r}; it has {_listed(tool.arguments)}"


def _quantity(quantity: Quantity, at: Place) -> Iterator[Fault]:
    numeric = quantity.kind in ("number", "integer")
    if not numeric and (quantity.min is not None or quantity.max is not None):
        yield at, f"min and max are for numbers, and this is of type {quantity.kind}"
    if quantity.min is not None and quantity.max is not None and quantity.min > quantity.max:
        yield at, "min is above max"
    if numeric and isinstance(quantity, Argument) and not quantity.unit and quantity.choices is None:
        yield (*at, "unit"), "a number needs its unit; write 1 for a count or a share"
    for index, choice in enumerate(quantity.choices or []):
        if not _is(quantity.kind, choice):
            yield (*at, "choices", index), _misfit(quantity.kind, choice)


def _value(quantity: Argument | Register, value: Any, at: Place) -> Iterator[Fault]:
    if not _is(quantity.kind, value):
        yield at, _misfit(quantity.kind, value)
    elif quantity.choices is not None and value not in quantity.choices:
        yield at, f"{value!r} is not among the choices, {_listed(quantity.choices)}"
    elif quantity.min is not None and value < quantity.min:
        yield at, f"{value!r} is below the least, {quantity.min:g}"
    elif quantity.max is not None and value > quantity.max:
        yield at, f"{value!r} is above the greatest, {quantity.max:g}"


def _pattern(quantity: Argument | Register | None, written: Any, at: Place) -> Iterator[Fault]:
    try:
        pattern = parse_pattern(written)
    except ValueError as error:
        yield at, str(error)
        return
    # A pattern with an impossible value would never, or always, refuse.
    for value in _named(pattern) if quantity is not None else ():
        assert quantity is not None
        yield from _value(quantity, value, at)


def _named(pattern: Pattern) -> tuple[Any, ...]:
    if isinstance(pattern, Exact):
        return (pattern.value,)
    return pattern.values if isinstance(pattern, OneOf) else ()


def _is(kind: Kind, value: Any) -> bool:
    match kind:
        case "number":
            return is_number(value)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "text":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "list":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case "json":
            return True


def _misfit(kind: Kind, value: Any) -> str:
    hint = '; write "on" and "off" in quotes' if isinstance(value, bool) and kind == "text" else ""
    return f"{value!r} is no {kind}{hint}"


def _listed(names: Mapping[str, object] | list[Any]) -> str:
    return ", ".join(map(str, names)) or "none"
