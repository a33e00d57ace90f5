"""Typed values in a driver file: the source of a number or a word, and its conversion of units."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from devices.outcome import Refusal

Scalar = bool | int | float | str
Tables = Mapping[str, Mapping[str, Mapping[str, Scalar]]]
"""Table name, row name, column name, cell."""
SAFE_TEXT = re.compile(r"[\w.-]{1,64}", re.ASCII)
SOURCES = ("value", "argument", "option", "capture", "remembered", "row", "rows")


class MissingValue(LookupError):
    """A value's source is empty: no such capture or stored value."""


class Strict(BaseModel):
    """Base: no unknown keys, frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class OptionRef(Strict):
    """A number that the rig file sets."""

    option: str = Field(description="the option's name")


Number = float | OptionRef


class Threshold(Strict):
    """A word for a number, by a limit."""

    at: Number = Field(description="the limit")
    below: str = Field(description="the word below the limit")
    above: str = Field(description="the word at the limit and above it")


class Value(Strict):
    """A typed value: one source, then scale, division, offset, limits, and how it is written.

    The number is `(source - minus) * scale / divide_by + offset`. A plain number, word or truth value in
    the file stands for itself.
    """

    value: Scalar | None = Field(default=None, description="itself; a plain value in the file means the same")
    argument: str | None = Field(default=None, description="an argument of the call")
    option: str | None = Field(default=None, description="an option of the rig file")
    capture: str | None = Field(default=None, description="a named group of an answer")
    remembered: str | None = Field(
        default=None, description="what was last remembered under this name; may hold ${...}"
    )
    row: Value | None = Field(default=None, description="the row of a table, with `table` and `column`")
    rows: str | None = Field(default=None, description="the list of the row names of this table")
    table: str | list[str] | None = Field(
        default=None, description="for `row`: the table, or several to look in"
    )
    column: str | None = Field(default=None, description="for `row`: the column")
    minus: Number = Field(default=0.0, description="subtracted first")
    scale: Number = Field(default=1.0, description="multiplied by this: the conversion of units")
    divide_by: Number = Field(default=1.0, description="divided by this")
    offset: Number = Field(default=0.0, description="added at the end")
    min: Number | None = Field(default=None, description="below it the call is rejected (out_of_range)")
    max: Number | None = Field(default=None, description="above it the call is rejected (out_of_range)")
    decimals: int | None = Field(
        default=None, ge=0, le=9, description="digits after the point; left out: as many as needed, up to 6"
    )
    words: dict[str, Scalar] | None = Field(default=None, description="what each text stands for")
    threshold: Threshold | None = Field(default=None, description="a word for the number")

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, written: Any) -> Any:
        return {"value": written} if isinstance(written, bool | int | float | str) else written

    @model_validator(mode="after")
    def _one_source(self) -> Value:
        given = [name for name in SOURCES if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"a value needs exactly one of {', '.join(SOURCES)}, and has {given or 'none'}")
        if (self.row is None) != (self.table is None and self.column is None):
            raise ValueError("`row` goes with `table` and `column`")
        return self

    @property
    def tables(self) -> list[str]:
        """The tables of the value."""
        return [self.table] if isinstance(self.table, str) else list(self.table or [])


@dataclass
class Scope:
    """The sources of the values of one call."""

    arguments: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Scalar] = field(default_factory=dict)
    tables: Tables = field(default_factory=dict)
    memory: Mapping[str, Scalar] = field(default_factory=dict)
    captures: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    """Placeholders with known text."""

    def for_call(self, arguments: Mapping[str, object]) -> Scope:
        """Return the same scope for a call with these arguments, without captures of an earlier one."""
        return replace(self, arguments=arguments, captures={})


def number(value: Number, scope: Scope) -> float:
    """Return a number of the file, or of the option that it names."""
    return float(scope.options[value.option]) if isinstance(value, OptionRef) else value


def evaluate(value: Value, scope: Scope) -> Scalar | list[str]:
    """Return the value in this scope.

    Raises:
        Refusal: a row that is not in the table, or a number out of its limits.
        MissingValue: its source is empty.
    """
    if value.rows is not None:
        return list(scope.tables.get(value.rows, {}))
    source = _source(value, scope)
    if value.words is not None:
        if str(source) not in value.words:
            raise MissingValue(f"no word for {source!r}")
        return value.words[str(source)]
    if not _converts(value):
        return source
    try:
        given = float(source)
    except ValueError:
        raise MissingValue(f"{source!r} is no number") from None
    result = (given - number(value.minus, scope)) * number(value.scale, scope)
    result = result / number(value.divide_by, scope) + number(value.offset, scope)
    _check_limits(value, result, scope)
    if value.threshold is not None:
        limit = number(value.threshold.at, scope)
        return value.threshold.below if result < limit else value.threshold.above
    return result if value.decimals is None else round(result, value.decimals)


def write(value: Value, scope: Scope) -> str:
    """Return the value as text in a command: numbers in plain decimals, never with an exponent."""
    result = evaluate(value, scope)
    if value.argument is not None and isinstance(result, str) and not SAFE_TEXT.fullmatch(result):
        # A model's text must not inject anything into a command.
        raise Refusal("bad_name", f"{result!r} is no name here: letters, digits, _, - and . only.")
    return plain_text(result if not isinstance(result, list) else ",".join(result), value.decimals)


def plain_text(value: Scalar, decimals: int | None = None) -> str:
    """Return a scalar as text without an exponent, which many controllers misread."""
    if isinstance(value, float) or (decimals is not None and not isinstance(value, str)):
        text = f"{float(value):.{6 if decimals is None else decimals}f}"
        if decimals is None:
            text = text.rstrip("0").rstrip(".")
        return "0" if text.strip("-0.") == "" and decimals is None else text
    if isinstance(value, bool):
        return "1" if value else "0"
    return str(value)


def _source(value: Value, scope: Scope) -> Scalar:
    from devices.drivers.templates import render

    if value.value is not None:
        return value.value
    if value.argument is not None:
        return _looked_up(scope.arguments, value.argument, "argument")
    if value.option is not None:
        return _looked_up(scope.options, value.option, "option")
    if value.capture is not None:
        return _looked_up(scope.captures, value.capture, "captured value")
    if value.remembered is not None:
        return _looked_up(scope.memory, render(value.remembered, scope.names), "reading")
    assert value.row is not None and value.column is not None
    name = str(evaluate(value.row, scope))
    for table in value.tables:
        row = scope.tables.get(table, {}).get(name)
        if row is not None:
            if value.column not in row:
                raise Refusal("not_fitted", f"this rig has no {value.column} for {name}.")
            return row[value.column]
    known: Sequence[str] = [row for table in value.tables for row in scope.tables.get(table, {})]
    raise Refusal("unknown_name", f"there is no {name!r}; there are {', '.join(known) or 'none'}.")


def _looked_up(values: Mapping[str, Any], name: str, what: str) -> Scalar:
    if name not in values:
        raise MissingValue(f"no {what} {name!r} yet")
    found: Scalar = values[name]
    return found


def _converts(value: Value) -> bool:
    return (
        value.minus != 0.0
        or value.scale != 1.0
        or value.divide_by != 1.0
        or value.offset != 0.0
        or value.min is not None
        or value.max is not None
        or value.decimals is not None
        or value.threshold is not None
        or value.capture is not None
    )


def _as_given(value: Value, limit: float | None, scope: Scope) -> float | None:
    """Convert a limit back to the unit of its source, which the caller knows."""
    if limit is None or not number(value.scale, scope):
        return limit
    converted = (limit - number(value.offset, scope)) * number(value.divide_by, scope)
    return converted / number(value.scale, scope) + number(value.minus, scope)


def _check_limits(value: Value, result: float, scope: Scope) -> None:
    low = None if value.min is None else number(value.min, scope)
    high = None if value.max is None else number(value.max, scope)
    if (low is not None and result < low) or (high is not None and result > high):
        low, high = _as_given(value, low, scope), _as_given(value, high, scope)
        if number(value.scale, scope) / number(value.divide_by, scope) < 0:
            low, high = high, low
        what = value.argument or "the value"
        bounds = f"from {low:g} to {high:g}" if low is not None and high is not None else ""
        bounds = bounds or (f"of {low:g} or more" if low is not None else f"up to {high:g}")
        raise Refusal("out_of_range", f"{what} is out of this rig's range: it takes values {bounds}.")
