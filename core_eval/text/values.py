"""Equality of JSON values; booleans never equal numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def is_number(value: object) -> bool:
    """Return whether it is an integer or a float; a boolean is not a number here."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def same_value(left: Any, right: Any) -> bool:
    """Compare two JSON values: `14` equals `14.0`, `True` is not `1`, lists and objects compare by value."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, Mapping):
        return (
            isinstance(right, Mapping)
            and left.keys() == right.keys()
            and all(same_value(value, right[key]) for key, value in left.items())
        )
    if isinstance(left, list | tuple):
        return (
            isinstance(right, list | tuple) and len(left) == len(right) and all(map(same_value, left, right))
        )
    return bool(left == right)
