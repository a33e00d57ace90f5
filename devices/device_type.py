"""A device type: the set of tools that all rigs of one kind share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from devices.tool import ArgumentsError, Effect, Tool, ToolArguments

if TYPE_CHECKING:
    from devices.declared.rules import DeclaredRules


@dataclass(frozen=True)
class DeviceType:
    """A kind of rig.

    Attributes:
        name: as a rig states it in its status.
        tools: in the order in which a model reads them.
        advice: a sentence to whoever operates it, which every model is told.
        rules: what its file declares of registers, requirements and limits; None of a type in Python.
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
        """The typed arguments of a call.

        Raises:
            ArgumentsError: the tool is unknown, or its arguments do not fit.
        """
        known = self.by_name.get(tool)
        if known is None:
            raise ArgumentsError(f"there is no tool {tool!r}; the tools are {', '.join(self.by_name)}")
        return known.validate(arguments)

    def in_world(self, state: Mapping[str, Any]) -> DeviceType:
        """The same device type, with tools whose texts state this world's facts."""
        return replace(self, tools=tuple(tool.in_world(state) for tool in self.tools))

    def fitted(self, tools: Iterable[str]) -> DeviceType:
        """The same device type with these of its tools alone, as hardware has them that lacks the others."""
        kept = frozenset(tools)
        return replace(self, tools=tuple(tool for tool in self.tools if tool.name in kept))

    def schemas(self) -> list[dict[str, Any]]:
        """Every tool's function schema; raises `ValueError` as `Tool.schema` does."""
        return [tool.schema() for tool in self.tools]


def knows_all(device: DeviceType, tools: Iterable[str]) -> bool:
    """Whether the device has every one of these tools."""
    return all(tool in device.by_name for tool in tools)
