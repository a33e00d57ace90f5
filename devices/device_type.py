"""A device type: the set of tools that all rigs of one kind share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from devices.tool import ArgumentsError, Effect, Tool, ToolArguments, UnknownTool

if TYPE_CHECKING:
    from core_eval.path.symbols import Symbol
    from devices.declared.rules import DeclaredRules


@dataclass(frozen=True)
class DeviceType:
    """A kind of rig.

    Attributes:
        name: as in the status of its rigs.
        tools: in the order of the model's prompt.
        advice: one or two sentences for the operator, part of every model's prompt.
        rules: registers, requirements and limits of a device file; None for a type in Python.
    """

    name: str
    description: str
    tools: tuple[Tool, ...]
    advice: str = ""
    rules: DeclaredRules | None = None

    @cached_property
    def by_name(self) -> Mapping[str, Tool]:
        """Tool name to tool."""
        return {tool.name: tool for tool in self.tools}

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """Names of the tools that change nothing."""
        return tuple(tool.name for tool in self.tools if tool.effect is Effect.READ)

    def validate(self, tool: str, arguments: Mapping[str, Any]) -> ToolArguments:
        """Return the typed arguments of a call.

        Raises:
            ArgumentsError: the tool is unknown, or arguments are wrong, missing or unknown; names each.
        """
        known = self.by_name.get(tool)
        if known is None:
            raise UnknownTool(f"there is no tool {tool!r}; the tools are {', '.join(self.by_name)}")
        try:
            return known.arguments.model_validate(dict(arguments))
        except ValidationError as error:
            faults = "; ".join(
                f"{'.'.join(map(str, fault['loc'])) or 'arguments'}: {fault['msg']}"
                for fault in error.errors(include_url=False)
            )
            raise ArgumentsError(f"{tool}: {faults}") from None

    def in_world(self, state: Mapping[str, Any]) -> DeviceType:
        """Return the same device type, with tools whose texts state this world's facts."""
        return replace(self, tools=tuple(tool.in_world(state) for tool in self.tools))

    def fitted(self, tools: Iterable[str]) -> DeviceType:
        """Return the same device type with these tools only, for hardware that lacks the others."""
        kept = frozenset(tools)
        return replace(self, tools=tuple(tool for tool in self.tools if tool.name in kept))

    def schemas(self) -> list[dict[str, Any]]:
        """Return every tool's function schema; raise `ValueError` as `Tool.schema` does."""
        return [tool.schema() for tool in self.tools]


def takes(device: DeviceType, symbols: Iterable[Symbol]) -> bool:
    """Return whether the device has the tools and the arguments of all these symbols."""
    return all(_takes(device.by_name.get(symbol.tool), symbol) for symbol in symbols)


def _takes(tool: Tool | None, symbol: Symbol) -> bool:
    if tool is None:
        return False
    parameters = tool.parameters()
    # A symbol without arguments matches no call with any.
    return symbol.arguments.keys() <= parameters["properties"].keys() and bool(
        symbol.arguments or not parameters["required"]
    )


def an(name: str) -> str:
    """Return a name with its indefinite article: "an automation", "a farm_rover"."""
    return f"{'an' if name[:1] in 'aeio' else 'a'} {name}"
