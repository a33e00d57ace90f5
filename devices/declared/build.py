"""Builds a device type from its file: tools with typed arguments, as if written in Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, create_model

from core_eval.path.patterns import Pattern, parse_pattern
from devices.declared.device_file import DeviceFile, Quantity, ResultPart, ToolEntry
from devices.declared.rules import DeclaredRules, Needed, ToolRules
from devices.device_type import DeviceType
from devices.tool import Echoes, Reads, Tool, ToolArguments, ToolResult

TYPES: Mapping[str, type] = {"number": float, "integer": int, "text": str, "boolean": bool}


def declared_device(file: DeviceFile) -> DeviceType:
    """Return the device type of a file without faults (`devices.declared.check`)."""
    rules = DeclaredRules(
        tools={name: _rules(entry) for name, entry in file.tools.items()},
        after_stop={
            name: register.after_stop
            for name, register in file.registers.items()
            if register.after_stop is not None
        },
        sensors={name: sensor.register_name for name, sensor in file.sensors.items()},
    )
    tools = tuple(_tool(name, entry) for name, entry in file.tools.items())
    return DeviceType(file.name, file.description, tools, file.advice, rules)


def _tool(name: str, entry: ToolEntry) -> Tool:
    arguments: dict[str, Any] = {
        key: (_type(part), _field(part, ... if part.default is None else part.default))
        for key, part in entry.arguments.items()
    }
    results: dict[str, Any] = {key: _result(part) for key, part in entry.result.items()}
    return Tool(
        name,
        _plain(entry.description),
        _model(f"{name}_arguments", ToolArguments, arguments),
        _model(f"{name}_result", ToolResult, results),
        entry.effect,
        inverse=entry.inverse,
        towards_safe=entry.towards_safe,
    )


def _model(name: str, base: type[Any], fields: dict[str, Any]) -> type[Any]:
    made: type[BaseModel] = create_model(name, __base__=base, **fields)
    return made


def _type(part: Quantity) -> Any:
    return TYPES[part.kind] if part.choices is None else Literal[tuple(part.choices)]


def _field(part: Quantity, default: Any) -> Any:
    bounds: dict[str, Any] = {}
    if part.choices is None:
        # Bounds of a whole number are whole in the schema for the model.
        number = int if part.kind == "integer" else float
        bounds = {
            key: number(limit) for key, limit in (("ge", part.min), ("le", part.max)) if limit is not None
        }
    unit = f"in {part.unit}" if part.unit not in ("", "1") else ""
    text = "; ".join(piece for piece in (part.description, unit) if piece)
    return Field(default, description=_plain(text), **bounds)


def _result(part: ResultPart) -> tuple[Any, Any]:
    marks = [Reads(part.resolution)] if part.resolution else []
    kind = _type(part)
    # Results are only checked for their type: a reading out of bounds is still a reading.
    unbounded = part.model_copy(update={"min": None, "max": None})
    typed = Annotated[kind, *marks, *([Echoes()] if part.echo else [])] if marks or part.echo else kind
    if part.optional:
        return typed | None, _field(unbounded, None)
    return typed, _field(unbounded, ...)


def _rules(entry: ToolEntry) -> ToolRules:
    return ToolRules(
        sets=dict(entry.sets),
        needs=tuple(
            Needed(_patterns(one.registers), _patterns(one.when), one.code, one.message)
            for one in entry.requires
        ),
        reports={
            key: part.register_name for key, part in entry.result.items() if part.register_name is not None
        },
        limits=_patterns(entry.limits),
    )


def _patterns(written: Mapping[str, Any]) -> dict[str, Pattern]:
    return {name: parse_pattern(value) for name, value in written.items()}


def _plain(text: str) -> str:
    """Escape braces, which would name facts of a world."""
    return text.replace("{", "{{").replace("}", "}}")
