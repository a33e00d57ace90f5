"""A dataclass as a table's row: its fields are the columns, and its types say how they are stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from enum import StrEnum
from functools import cache
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from core_eval.text.json_text import plain_text, to_json

R = TypeVar("R")
NO_COLUMN = {"column": False}
"""Metadata of a field that is no column of its table."""
_NUMBERS = frozenset({int, float})


@cache
def column_types(row: Any) -> Mapping[str, Any]:
    """Return the type of each column of a row's class, without None; of several, the union's."""
    hints = get_type_hints(row)
    return {column: _without_none(hints[name]) for column, name in _fields(row).items()}


@cache
def _fields(row: Any) -> Mapping[str, str]:
    """Return the field of each column; one that would be a word of Python has an underscore after it."""
    return {one.name.removesuffix("_"): one.name for one in fields(row) if one.metadata != NO_COLUMN}


def columns(row: Any, of: Any = None) -> dict[str, Any]:
    """Return a row's values as SQLite holds them: flags as 0 and 1, words as text, what is nested as JSON.

    `of`: the class whose fields are the columns; by default the row's own.
    """
    return {
        column: None if (value := getattr(row, name)) is None else value if store is None else store(value)
        for column, name, store in _writers(of or row.__class__)
    }


def row_of(row: Callable[..., R], values: Mapping[str, Any], **others: Any) -> R:
    """Return a row from its columns as `read_value` has checked them; what is no column of it is left out.

    Args:
        row: its class.
        values: column to value.
        others: fields that are no columns, or have another value than the column's.
    """
    kept = {name: values[column] for column, name in _fields(row).items() if column in values}
    for name in _flags(row):
        if (flag := kept.get(name)) is not None:
            kept[name] = bool(flag)
    kept.update(others)
    return row(**kept)


def named(row: Any) -> dict[str, Any]:
    """Return a row's fields as `asdict` does, under the names of their columns."""
    return {name.removesuffix("_"): value for name, value in asdict(row).items()}


def is_word(kind: Any) -> bool:
    """Return whether a column of this type holds one of a few words."""
    return get_origin(kind) is Literal or (isinstance(kind, type) and issubclass(kind, StrEnum))


def _without_none(hint: Any) -> Any:
    if get_origin(hint) not in (Union, UnionType):
        return hint
    kinds = [kind for kind in get_args(hint) if kind is not type(None)]
    return kinds[0] if len(kinds) == 1 else tuple(kinds)


@cache
def _writers(row: Any) -> tuple[tuple[str, str, Callable[[Any], Any] | None], ...]:
    names = _fields(row)
    return tuple((column, names[column], _writer(kind)) for column, kind in column_types(row).items())


def _writer(kind: Any) -> Callable[[Any], Any] | None:
    """Return what makes a value one that SQLite holds; None where it already is."""
    if kind is str:
        return plain_text
    if kind is bool:
        return int
    if kind in _NUMBERS or isinstance(kind, tuple):
        return None
    return str if is_word(kind) else to_json


@cache
def _flags(row: Any) -> tuple[str, ...]:
    names = _fields(row)
    return tuple(names[column] for column, kind in column_types(row).items() if kind is bool)
