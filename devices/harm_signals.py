"""Resolves a harm rule's dotted keys: the monitored signal, and its limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from devices.harm import HarmRule


def limit_of(rule: HarmRule, entity: str, *states: Mapping[str, Any]) -> float | None:
    """Return a rule's limit for an entity, in the rule's unit, from the first of the states that has it.

    These are the true state, the world, or both.
    """
    found = (find_number(state, rule.limit, entity) for state in states)
    bound = next((bound for bound in found if bound is not None), None)
    return None if bound is None else bound * rule.limit_factor


def signal_of(rule: HarmRule, entity: str, state: Mapping[str, Any]) -> float | None:
    """Return the current signal of a rule for an entity, in the rule's unit."""
    value = find_number(state, rule.signal, entity)
    if value is None and _has_parent(state, rule.signal, entity):
        # An entity without contact has no entry among the contacts.
        return 0.0
    return value


def find_number(state: Mapping[str, Any], key: str | float | None, entity: str) -> float | None:
    """Return the number under a rule's dotted key, with its entity filled in; None where there is none."""
    if not isinstance(key, str):
        return None if key is None else float(key)
    place: Any = state
    for name in _names(key, entity):
        if isinstance(place, Mapping) and name in place:
            place = place[name]
        elif isinstance(place, Sequence) and name.isdecimal() and int(name) < len(place):
            place = place[int(name)]
        else:
            return None
    return float(place) if isinstance(place, int | float) and not isinstance(place, bool) else None


def _names(key: str, entity: str) -> Iterator[str]:
    for name in key.split("."):
        yield name.replace("{entity}", entity)


def _has_parent(state: Mapping[str, Any], key: str | None, entity: str) -> bool:
    place: Any = state
    for name in list(_names(key or "", entity))[:-1]:
        if not isinstance(place, Mapping) or name not in place:
            return False
        place = place[name]
    return isinstance(place, Mapping) and bool(key)
