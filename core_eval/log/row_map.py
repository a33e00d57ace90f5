"""A dataclass as a table's row: its fields are the columns, and its types say how they are stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from enum import StrEnum
from functools import cache
from types import NoneType
from typing import Any, TypeVar, get_args, get_type_hints

from core_eval.log.json_text import to_json

R = TypeVar("R")
NO_COLUMN = {"column": False}
"""Metadata of a field that is no column of its table."""


@cache
def column_types(row: Any) -> Mapping[str, Any]:
    """Return the type of each column of a row's class, without None."""
    hints = get_type_hints(row)
    return {one.name: _needed(hints[one.name]) for one in fields(row) if one.metadata != NO_COLUMN}


def _needed(kind: Any) -> Any:
    """Return a type without None."""
    parts = get_args(kind)
    return next(one for one in parts if one is not NoneType) if NoneType in parts else kind


def columns(row: Any) -> dict[str, Any]:
    """Return a row's values as SQLite holds them: flags as 0 and 1, words as text, the rest as JSON."""
    return {name: _stored(getattr(row, name)) for name in column_types(row.__class__)}


def row_of(row: type[R], values: Mapping[str, Any], **others: Any) -> R:
    """Return a row from its columns as `read_value` has checked them; what is no column of it is left out.

    Args:
        row: its class.
        values: column to value.
        others: fields that are no columns.
    """
    of: Any = row
    types = column_types(of)
    kept = {
        name: bool(values[name]) if kind is bool and values[name] is not None else values[name]
        for name, kind in types.items()
        if name in values
    }
    return row(**kept, **others)


def _stored(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if value is None or isinstance(value, str | int | float):
        return str(value) if isinstance(value, StrEnum) else value
    return to_json(value)
