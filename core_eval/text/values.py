"""What JSON values are, and whether two are equal; booleans never equal numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

ROUNDING = 1e-9
"""Tolerance, absolute or relative, within which numbers are alike."""


def is_number(value: object) -> bool:
    """Return whether it is an integer or a float; a boolean is not a number here."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def as_object(value: object) -> Mapping[str, Any]:
    """Return what foreign JSON should have as an object; an empty one where it is none."""
    return value if isinstance(value, Mapping) else {}


def as_float(value: float) -> float:
    """Return a number as a float; an integer that is too large for one is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


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


def value_key(value: Any) -> str:
    """Return text that two JSON values share just where they are the same value: that of `14` for `14.0`."""
    return json.dumps(_whole(value), sort_keys=True)


def _whole(value: Any) -> Any:
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, Mapping):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(item) for item in value]
    return value


def alike(one: Any, other: Any) -> bool:
    """Return whether two JSON-ready states are equal, except for rounding."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, float | int) and isinstance(other, float | int):
        return abs(one - other) <= ROUNDING * max(1.0, abs(one), abs(other))
    if _is_row(one) and _is_row(other):
        return len(one) == len(other) and all(map(alike, one, other))
    return bool(one == other)


def _is_row(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
