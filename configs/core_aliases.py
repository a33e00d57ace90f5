"""CORE's JSON under other names: a task file that says what its tools, arguments and values are here."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Self

from pydantic import Field, model_validator

from configs.errors import ConfigError
from configs.yaml_file import YamlFile, nearest
from core_eval.path.patterns import Exact, Excluded, Pattern
from core_eval.path.symbols import Symbol
from core_eval.text.values import is_number, same_value
from devices.device_type import DeviceType
from devices.models import FrozenModel

MOST_CALLS = 100
"""A count says at most this many calls."""


class ArgumentAlias(FrozenModel):
    """What an argument of the file is called here, and what its values are here."""

    name: str | None = Field(default=None, description="its name here; left out: the same")
    values: dict[Any, Any] | None = Field(default=None, description="value of the file: value here")
    factor: float | None = Field(
        default=None, description="what its numbers are multiplied by, such as 100 for a fraction in per cent"
    )
    time: str | None = Field(
        default=None, description="how its ISO 8601 times are written here, such as `%Y-%m-%d %H:%M`"
    )

    @model_validator(mode="before")
    @classmethod
    def _is_name(cls, given: Any) -> Any:
        return {"name": given} if isinstance(given, str) else given

    @model_validator(mode="after")
    def _has_one_map(self) -> Self:
        if sum(one is not None for one in (self.values, self.factor, self.time)) > 1:
            raise ConfigError("give one of values, factor and time")
        return self

    def pattern(self, pattern: Pattern) -> Pattern:
        """Return what a pattern of the file is here; raises ValueError where a value is nothing."""
        if isinstance(pattern, Exact):
            return Exact(self._value(pattern.value))
        if isinstance(pattern, Excluded):
            return Excluded(tuple(map(self._value, pattern.values)))
        return pattern

    def _value(self, value: Any) -> Any:
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


class ToolAlias(FrozenModel):
    """What a call of the file is here."""

    tool: str | None = Field(default=None, description="the tool's name here; left out: the same")
    arguments: dict[str, ArgumentAlias | None] = Field(
        default={}, description="argument of the file: its name here, or more of it; null: dropped"
    )
    constants: dict[str, Any] = Field(
        default={}, description="arguments that the file does not have, with their values here"
    )
    repeat: str | None = Field(
        default=None, description="argument of the file that says how many such calls it is here; dropped"
    )
    calls: list[ToolAlias] = Field(
        default=[], description="in place of the other keys: several calls in a row"
    )

    @model_validator(mode="before")
    @classmethod
    def _is_name(cls, given: Any) -> Any:
        return {"tool": given} if isinstance(given, str) else given

    @model_validator(mode="after")
    def _is_one_or_several(self) -> Self:
        if self.calls and (self.tool or self.arguments or self.constants or self.repeat):
            raise ConfigError("stands alone: give each call its own tool and arguments", at=("calls",))
        return self

    def symbols(self, symbol: Symbol) -> Iterator[Symbol]:
        """Yield what a symbol of the file is here; raises ValueError with the key where it is nothing."""
        for place, call in enumerate(self.calls):
            with _within(f"calls.{place}."):
                yield from call.symbols(symbol)
        if self.calls:
            return
        arguments: dict[str, Pattern] = {name: Exact(value) for name, value in self.constants.items()}
        for name, pattern in symbol.arguments.items():
            alias = self.arguments.get(name, ArgumentAlias())
            if alias is not None and name != self.repeat:
                with _within(f"arguments.{name}: "):
                    arguments[alias.name or name] = alias.pattern(pattern)
        once = Exact(1)
        times = once if self.repeat is None else symbol.arguments.get(self.repeat, once)
        if not (isinstance(times, Exact) and type(times.value) is int and 1 <= times.value <= MOST_CALLS):
            raise ValueError(f"repeat: {self.repeat} must be a whole number from 1 to {MOST_CALLS}")
        yield from [replace(symbol, tool=self.tool or symbol.tool, arguments=arguments)] * times.value


class CoreEntry(FrozenModel):
    """A task file that takes its tasks from CORE's JSON."""

    core: Path = Field(description="the file in CORE's JSON, relative to this one")
    world: str | None = Field(
        default=None, description="the world of all its tasks; left out: the one that fits each"
    )
    aliases: dict[str, ToolAlias] = Field(
        default={}, description="tool of the file: its name here, or what a call of it is"
    )
    init: dict[str, dict[str, Any] | list[Any]] = Field(
        default={},
        description="by a task's id: what differs from the world's initial state, or a list of calls before "
        "the episode that change it",
    )


class Translation:
    """Translates symbols by a task file's aliases, and knows what they were."""

    def __init__(self, entry: CoreEntry, file: YamlFile) -> None:
        self._aliases, self._file = entry.aliases, file
        self._seen: dict[str, set[str]] = {}

    def __call__(self, symbol: Symbol) -> list[Symbol]:
        """Return the symbols that stand for one; raises ValueError naming file and key."""
        self._seen.setdefault(symbol.tool, set()).update(symbol.arguments)
        with _within(f"{self._file.path}: aliases.{symbol.tool}."):
            made = list(self._aliases.get(symbol.tool, ToolAlias()).symbols(symbol))
        several = len(made) > 1
        return [replace(one, name=f"{one.name} {k + 1}") if several else one for k, one in enumerate(made)]

    def check(self, device: DeviceType | None) -> None:
        """Check the aliases against the file's symbols and, where it is known, the device.

        Raises:
            ConfigError: an alias is of no tool or argument; with its key and line.
        """
        for tool, alias in self._aliases.items():
            if tool not in self._seen:
                there = nearest(self._seen, tool)
                raise self._file.error(f"no task has a tool {tool!r}; there are {there}", "aliases", tool)
            self._check(alias, tool, device, "aliases", tool)

    def _check(self, alias: ToolAlias, tool: str, device: DeviceType | None, *key: str | int) -> None:
        for place, call in enumerate(alias.calls):
            self._check(call, tool, device, *key, "calls", place)

        def check(what: str, names: Collection[str], name: str, *at: str) -> None:
            if name not in names:
                message = f"{what} {name!r}; there are {nearest(names, name)}"
                raise self._file.error(message, *key, *at)

        for name in alias.arguments:
            check(f"{tool} has no argument", self._seen[tool], name, "arguments", name)
        if alias.repeat is not None:
            check(f"{tool} has no argument", self._seen[tool], alias.repeat, "repeat")
        if device is None or alias.calls:
            return
        here = alias.tool or tool
        check(f"{device.name} has no tool", device.by_name, here, "tool")
        known = device.by_name[here].arguments.model_fields
        for name, given in alias.arguments.items():
            if given is not None:
                check(f"{here} has no argument", known, given.name or name, "arguments", name)
        for name in alias.constants:
            check(f"{here} has no argument", known, name, "constants", name)


@contextmanager
def _within(key: str) -> Iterator[None]:
    """Within the context, the text of a ValueError begins with this."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{key}{error}") from None
