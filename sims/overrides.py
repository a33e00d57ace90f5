"""Overrides of a world's initial state: deep merge, checked by the world's own model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from devices.models import given

World = TypeVar("World", bound=BaseModel)


class WorldError(ValueError):
    """An initial state that does not fit its world; one line that names the key."""


def deep_merge(base: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with `overrides` merged in: mappings by key, null deletes a key, the rest replaces.

    Values that a part derived (`devices.models.DerivingModel`) leave it with the first override of the part.
    """
    merged = given(base)
    for key, value in given(overrides).items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(merged.get(key), Mapping):
            merged[key] = deep_merge(merged[key], value)
        else:
            merged[key] = value
    return merged


def stack_overrides(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return overrides equivalent to `below` and then `above`; a null stays, since it deletes a key."""
    stacked = dict(below)
    for key, value in above.items():
        under = stacked.get(key)
        if isinstance(value, Mapping) and isinstance(under, Mapping):
            stacked[key] = stack_overrides(under, value)
        else:
            stacked[key] = value
    return stacked


def merge_world(world: World, overrides: Mapping[str, Any]) -> World:
    """Return the world with these overrides.

    Raises:
        WorldError: naming each key that is unknown, missing or out of range.
    """
    if not overrides:
        return world
    try:
        return type(world).model_validate(deep_merge(world.model_dump(), overrides))
    except ValidationError as error:
        faults = "; ".join(_fault(fault) for fault in error.errors(include_url=False))
        raise WorldError(f"initial state: {faults}; --show-init prints the keys that there are") from None


def _fault(fault: Any) -> str:
    key = ".".join(str(part) for part in fault["loc"]) or "(whole)"
    reason = "unknown key" if fault["type"] == "extra_forbidden" else fault["msg"]
    return f"{key}: {reason}"
