"""A device type inferred from a task's alphabet, for worlds whose tools the kit does not know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, Field, JsonValue, create_model

from devices.device_type import DeviceType
from devices.tool import Effect, Tool, ToolArguments, ToolResult

if TYPE_CHECKING:
    from core_eval.path.automaton import TaskAutomaton
    from core_eval.path.symbols import Symbol

JSON_TYPES = {bool: "boolean", int: "number", float: "number", dict: "object", list: "array"}


class AnyArguments(ToolArguments):
    """Any arguments: the device itself checks them."""

    model_config = ConfigDict(extra="allow", strict=False, frozen=True)


class AnyResult(ToolResult):
    """Any result."""

    model_config = ConfigDict(extra="allow", frozen=True)


def device_from_alphabet(name: str, automaton: TaskAutomaton) -> DeviceType:
    """Return a device with the tools of the automaton's symbols, in their order.

    A tool whose symbols never change the automaton's state counts as a read. Arguments are named, never
    checked.
    """
    symbols: dict[str, list[Symbol]] = {}
    for symbol in automaton.symbols.values():
        symbols.setdefault(symbol.tool, []).append(symbol)
    writing = {
        automaton.symbols[symbol].tool
        for (state, symbol), following in automaton.delta.items()
        if state != following
    }
    tools = tuple(
        Tool(
            tool,
            tool.replace("_", " ").capitalize().replace("{", "{{").replace("}", "}}") + ".",
            _arguments(tool, of_tool),
            AnyResult,
            Effect.WRITE if tool in writing else Effect.READ,
        )
        for tool, of_tool in symbols.items()
    )
    return DeviceType(name, f"The tools that tasks of {name} use.", tools)


def _arguments(tool: str, symbols: list[Symbol]) -> type[ToolArguments]:
    from core_eval.path.symbols import ANY_ARGUMENTS

    kinds: dict[str, set[str]] = {}
    for symbol in symbols:
        example = symbol.example()
        for argument in (name for name in symbol.arguments if name != ANY_ARGUMENTS):
            known = kinds.setdefault(argument, set())
            if argument in example:
                known.add(JSON_TYPES.get(type(example[argument]), "string"))
    fields: dict[str, Any] = {
        argument: (Any, Field(default=None, json_schema_extra=_schema_of(of_argument)))
        for argument, of_argument in kinds.items()
    }
    return create_model(tool, __base__=AnyArguments, **fields)


def _schema_of(kinds: set[str]) -> dict[str, JsonValue]:
    """Return the schema of an argument whose examples have these types; without examples anything fits."""
    if not kinds:
        return {}
    return {"type": kinds.pop()} if len(kinds) == 1 else {"anyOf": [{"type": kind} for kind in sorted(kinds)]}
