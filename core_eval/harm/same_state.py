"""Compares snapshots of a simulator bit for bit."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any

import numpy as np

from sims.simulator import Snapshot

UNLIKE = frozenset({"ledger"})
"""Parts of a snapshot that record the past and do not affect the future."""


def same_future(one: Snapshot, other: Snapshot) -> bool:
    """Return whether the same calls give bit-for-bit the same results from these two snapshots.

    False if that cannot be decided: True is always certain.
    """
    if one.sensors != other.sensors or one.parts.keys() != other.parts.keys():
        return False
    return all(_same(one.parts[name], other.parts[name], set()) for name in one.parts.keys() - UNLIKE)


def _same(one: Any, other: Any, seen: set[tuple[int, int]]) -> bool:
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    pair = id(one), id(other)
    if pair in seen:
        return True
    seen.add(pair)
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(_same(one[key], other[key], seen) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(_same(a, b, seen) for a, b in zip(one, other, strict=True))
    if isinstance(one, bool | int | float | str | bytes | frozenset | set):
        return bool(one == other)
    inside = _attributes(one)
    if inside is not None:
        theirs = _attributes(other)
        return theirs is not None and _same(inside, theirs, seen)
    try:
        # Extension objects, such as MuJoCo's, are compared by their pickled form.
        return pickle.dumps(one) == pickle.dumps(other)
    except Exception:
        return False


def _attributes(thing: Any) -> dict[str, Any] | None:
    """Return the attributes of a plain object; None for functions and extension objects."""
    if callable(thing):
        return None
    inside = dict(getattr(thing, "__dict__", {}))
    for kind in type(thing).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(thing, name):
                inside[name] = getattr(thing, name)
    return inside or None
