"""CORE's JSON under other names: a task file that says what its tools and arguments are called here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from core_eval.path.symbols import Symbol


class ToolAlias(BaseModel):
    """What a tool of the file is called here."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tool: str = Field(description="the tool's name here")
    arguments: dict[str, str] = Field(default={}, description="argument of the file: its name here")


class CoreEntry(BaseModel):
    """A task file that takes its tasks from CORE's JSON."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    core: Path = Field(description="the file in CORE's JSON, relative to this one")
    world: str | None = Field(default=None, description="the world of all its tasks; left out: that of each")
    aliases: dict[str, str | ToolAlias] = Field(
        default={}, description="tool of the file: its name here, or `tool` and `arguments`"
    )
    init: dict[str, dict[str, Any]] = Field(
        default={}, description="by a task's id: what differs from the world's initial state"
    )


def renaming(aliases: Mapping[str, str | ToolAlias]) -> Callable[[Symbol], Symbol]:
    """Return a function that renames a symbol's tool and arguments; without an alias they stay."""

    def rename(symbol: Symbol) -> Symbol:
        alias = aliases.get(symbol.tool)
        if alias is None:
            return symbol
        if isinstance(alias, str):
            return replace(symbol, tool=alias)
        arguments = {alias.arguments.get(name, name): pattern for name, pattern in symbol.arguments.items()}
        return replace(symbol, tool=alias.tool, arguments=arguments)

    return rename
