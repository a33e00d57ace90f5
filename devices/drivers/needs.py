"""Conditions of a driver file for a tool to start."""

from __future__ import annotations

import math

from devices.drivers.driver_file import Need
from devices.drivers.values import Scope, evaluate, number
from devices.outcome import Refusal


def check_need(need: Need, scope: Scope) -> None:
    """Check a condition.

    Raises:
        Refusal: with the condition's own code and message, or `unknown_name`.
    """
    if need.remembered is not None:
        if scope.memory.get(need.remembered) != need.equals:
            raise Refusal(need.code, need.message)
        return
    assert need.near is not None and need.table is not None, "the file's check makes sure"
    name = str(evaluate(need.near, scope))
    place = scope.tables[need.table].get(name)
    if place is None:
        known = ", ".join(scope.tables[need.table]) or "none"
        raise Refusal("unknown_name", f"there is no {name!r}; there are {known}.")
    # A machine that has not reported its position is near nothing.
    away = math.hypot(*(float(scope.memory.get(axis, math.inf)) - float(place[axis]) for axis in ("x", "y")))
    if not away <= number(need.within, scope):
        raise Refusal(need.code, need.message)
