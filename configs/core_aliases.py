"""CORE's JSON under other names: a task file that says what its tools, arguments and values are here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from configs.errors import ConfigError
from configs.yaml_file import YamlFile, nearest
from core_eval.path import Exact, Excluded, Pattern, Symbol
from core_eval.text.values import is_number, same_value
from devices.device_type import DeviceType


class ArgumentAlias(BaseModel):
    """What an argument of the file is called here, and what its values are here."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str | None = Field(default=None, description="its name here; left out: the same")
    values: dict[Any, Any] | None = Field(default=None, description="value of the file: value here")
    factor: float | None = Field(
        default=None,
        description="what its numbers are multiplied by, such as 100 to make per cent of a fraction",
    )
    time: str | None = Field(
        default=None, description="how its ISO 8601 times are written here, such as '%Y-%m-%d %H:%M'"
    )

    @model_validator(mode="after")
    def _has_one_map(self) -> Self:
        if sum(one is not None for one in (self.values, self.factor, self.time)) > 1:
            raise ConfigError("give one of values, factor and time", at=("values",))
        return self

    def value(self, value: Any) -> Any:
        """Return what a value of the file is here; raises ValueError with a sentence where it is nothing."""
        if self.values is not None:
            for old, new in self.values.items():
                if same_value(old, value):
                    return new
            raise ValueError(f"values has none for {value!r}; there are {', '.join(map(repr, self.values))}")
        if self.factor is not None:
            if not is_number(value):
                raise ValueError(f"factor needs a number, not {value!r}")
            # As decimals: 100 times 0.07 is 7.
            return float(Decimal(repr(value)) * Decimal(repr(self.factor)))
        if self.time is not None:
            try:
                return datetime.fromisoformat(value).strftime(self.time)
            except (TypeError, ValueError):
                raise ValueError(f"time needs an ISO 8601 time, not {value!r}") from None
        return value


class ToolAlias(BaseModel):
    """What a tool of the file is called here, and its arguments."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tool: str | None = Field(default=None, description="the tool's name here; left out: the same")
    arguments: dict[str, str | ArgumentAlias | None] = Field(
        default={},
        description="argument of the file: its name here, or `name` and a map of its values; null: dropped",
    )
    constants: dict[str, Any] = Field(
        default={}, description="arguments that calls have here and not in the file, with their values"
    )
    repeat: str | None = Field(
        default=None, description="argument of the file that says how many calls stand here for one; dropped"
    )

    def calls(self, symbol: Symbol) -> Iterator[Symbol]:
        """Yield what a symbol is here; raises ValueError with a key and a sentence where it is nothing."""
        arguments: dict[str, Pattern] = {}
        for name, pattern in symbol.arguments.items():
            alias = self.arguments.get(name, name)
            if alias is None or name == self.repeat:
                continue
            alias = ArgumentAlias(name=alias) if isinstance(alias, str) else alias
            try:
                arguments[alias.name or name] = _mapped(pattern, alias)
            except ValueError as error:
                raise ValueError(f"arguments.{name}: {error}") from None
        arguments |= {name: Exact(value) for name, value in self.constants.items()}
        here = replace(symbol, tool=self.tool or symbol.tool, arguments=arguments)
        times = Exact(1) if self.repeat is None else symbol.arguments.get(self.repeat, Exact(1))
        if not (isinstance(times, Exact) and type(times.value) is int and 1 <= times.value <= MOST_CALLS):
            raise ValueError(
                f"repeat: {self.repeat} must be a whole number from 1 to {MOST_CALLS} in each symbol"
            )
        yield from [here] * times.value


MOST_CALLS = 100
"""A call of the file stands for at most this many."""
Alias = str | ToolAlias | list[str | ToolAlias]


class CoreEntry(BaseModel):
    """A task file that takes its tasks from CORE's JSON."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    core: Path = Field(description="the file in CORE's JSON, relative to this one")
    world: str | None = Field(
        default=None, description="the world of all its tasks; left out: the one that fits each"
    )
    aliases: dict[str, Alias] = Field(
        default={}, description="tool of the file: its name here, an alias, or a list of those: several calls"
    )
    init: dict[str, dict[str, Any]] = Field(
        default={}, description="by a task's id: what differs from the world's initial state"
    )


class Translation:
    """Translates symbols by a task file's aliases, and knows what they were."""

    def __init__(self, entry: CoreEntry, file: YamlFile) -> None:
        self._aliases, self._file = {name: _listed(alias) for name, alias in entry.aliases.items()}, file
        self._seen: dict[str, set[str]] = {}

    def __call__(self, symbol: Symbol) -> list[Symbol]:
        """Return the symbols that stand for one; raises ValueError naming file and key."""
        self._seen.setdefault(symbol.tool, set()).update(symbol.arguments)
        calls: list[Symbol] = []
        for place, alias in enumerate(self._aliases.get(symbol.tool, [ToolAlias()])):
            try:
                calls += alias.calls(symbol)
            except ValueError as error:
                raise ValueError(
                    f"{self._file.path}: {'.'.join(map(str, self._key(symbol.tool, place)))}.{error}"
                ) from None
        several = len(calls) > 1
        return [replace(one, name=f"{one.name} {k + 1}") if several else one for k, one in enumerate(calls)]

    def check(self, device: DeviceType | None) -> None:
        """Check the aliases against the file's symbols and, where it is known, the device.

        Raises:
            ConfigError: one of them is of no tool or argument; with its key and line.
        """
        for tool, aliases in self._aliases.items():
            if tool not in self._seen:
                raise self._file.error(
                    f"no task has a tool {tool!r}; there are {nearest(self._seen, tool)}", *("aliases", tool)
                )
            for place, alias in enumerate(aliases):
                given = dict.fromkeys(alias.arguments, "arguments")
                for name, key in (given | ({alias.repeat: "repeat"} if alias.repeat else {})).items():
                    if name not in self._seen[tool]:
                        there = nearest(self._seen[tool], name)
                        raise self._file.error(
                            f"{tool} has no argument {name!r}; there are {there}",
                            *self._key(tool, place),
                            key,
                            name,
                        )
                self._check_here(device, tool, place, alias)

    def _check_here(self, device: DeviceType | None, tool: str, place: int, alias: ToolAlias) -> None:
        if device is None:
            return
        key, name = self._key(tool, place), alias.tool or tool
        if name not in device.by_name:
            there = nearest(device.by_name, name)
            raise self._file.error(f"{device.name} has no tool {name!r}; there are {there}", *key, "tool")
        known = device.by_name[name].arguments.model_fields
        here = {
            (one if isinstance(one, str) else one.name or old): ("arguments", old)
            for old, one in alias.arguments.items()
            if one is not None
        }
        for argument, at in (here | {one: ("constants", one) for one in alias.constants}).items():
            if argument not in known:
                there = nearest(known, argument)
                raise self._file.error(f"{name} has no argument {argument!r}; there are {there}", *key, *at)

    def _key(self, tool: str, place: int) -> tuple[str | int, ...]:
        return ("aliases", tool) if len(self._aliases[tool]) == 1 else ("aliases", tool, place)


def _listed(alias: Alias) -> list[ToolAlias]:
    listed = alias if isinstance(alias, list) else [alias]
    return [ToolAlias(tool=one) if isinstance(one, str) else one for one in listed]


def _mapped(pattern: Pattern, alias: ArgumentAlias) -> Pattern:
    if isinstance(pattern, Exact):
        return Exact(alias.value(pattern.value))
    if isinstance(pattern, Excluded):
        return Excluded(tuple(map(alias.value, pattern.values)))
    return pattern
