"""Builds a device type from its file: tools with typed arguments, as if written in Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    Field,
    SerializerFunctionWrapHandler,
    WithJsonSchema,
    create_model,
    model_serializer,
)
from pydantic.json_schema import SkipJsonSchema

from core_eval.path.patterns import Pattern, parse_pattern
from devices.declared.device_file import Argument, DeviceFile, Quantity, ResultPart, ToolEntry
from devices.declared.rules import DeclaredRules, Needed, ToolRules
from devices.device_type import DeviceType
from devices.inferred_device import AnyResult
from devices.tool import Echoes, Reads, Tool, ToolArguments, ToolResult

_NO_VALUE: Any = SkipJsonSchema[None]  # type: ignore[misc]
"""None, of which a schema says nothing."""
TYPES: Mapping[str, Any] = {
    "number": float,
    "integer": int,
    "text": str,
    "boolean": bool,
    "list": list[Any],
    "object": dict[str, Any],
    "json": Any,
}


class DeclaredArguments(ToolArguments):
    """Arguments of a tool of a file; one that is left out, and has no default, is no part of a call."""

    @model_serializer(mode="wrap")
    def _given(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = type(self).model_fields
        return {
            name: value
            for name, value in handler(self).items()
            if value is not None or fields[name].is_required()
        }


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
    arguments: dict[str, Any] = {key: _argument(part) for key, part in entry.arguments.items()}
    results: dict[str, Any] = {key: _result(part) for key, part in entry.result_parts.items()}
    return Tool(
        name,
        _plain(entry.description),
        _model(f"{name}_arguments", DeclaredArguments, arguments),
        AnyResult if entry.result == "any" else _model(f"{name}_result", ToolResult, results),
        entry.effect,
        inverse=entry.inverse,
        destructive=entry.destructive,
        idempotent=entry.idempotent,
    )


def _model(name: str, base: type[Any], fields: dict[str, Any]) -> type[Any]:
    made: type[BaseModel] = create_model(name, __base__=base, **fields)
    return made


def _argument(part: Argument) -> tuple[Any, Any]:
    kind = _type(part)
    if part.json_schema is not None:
        kind = Annotated[kind, WithJsonSchema(dict(part.json_schema))]
    if not part.optional:
        return kind, _field(part, ... if part.default is None else part.default)
    return kind | _NO_VALUE, _field(part, None, json_schema_extra=_without_default)


def _without_default(schema: dict[str, Any]) -> None:
    # A model would otherwise write the null that stands for an argument that is left out.
    schema.pop("default", None)


def _type(part: Quantity) -> Any:
    return TYPES[part.kind] if part.choices is None else Literal[tuple(part.choices)]


def _field(part: Quantity, default: Any, **more: Any) -> Any:
    bounds: dict[str, Any] = {}
    if part.choices is None:
        # Bounds of a whole number are whole in the schema for the model.
        number = int if part.kind == "integer" else float
        bounds = {
            key: number(limit) for key, limit in (("ge", part.min), ("le", part.max)) if limit is not None
        }
    unit = f"in {part.unit}" if part.unit not in ("", "1") else ""
    text = "; ".join(piece for piece in (part.description, unit) if piece)
    return Field(default, description=_plain(text), **bounds, **more)


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
            key: part.register_name
            for key, part in entry.result_parts.items()
            if part.register_name is not None
        },
        limits=_patterns(entry.limits),
    )


def _patterns(written: Mapping[str, Any]) -> dict[str, Pattern]:
    return {name: parse_pattern(value) for name, value in written.items()}


def _plain(text: str) -> str:
    """Escape braces, which would name facts of a world."""
    return text.replace("{", "{{").replace("}", "}}")
