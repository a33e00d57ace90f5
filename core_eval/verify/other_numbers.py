"""What may be called in place of a call of a plan: other poses, and other doses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from core_eval.path.calls import Call
from core_eval.path.patterns import Exact, Near, Range
from core_eval.path.symbols import Symbol
from core_eval.text.values import is_number
from devices.accepted import AXES

SHARES = (0.5, 0.95, 1.5, 2.5)
"""Distances from a place of the plan along each axis, as shares of its tolerance."""
EXACT = 0.01
"""The tolerance of a place that a plan gives exactly, to tell that it is too narrow, m."""
DOSES = (0.5, 0.8, 0.9, 1.1, 1.25, 2.0)
"""Other doses, as shares of the plan's."""
PARTS = (0.25, 0.5, 2.0 / 3.0)
"""The first of two parts of a dose, as a share of it."""


def states_a_number(symbol: Symbol) -> bool:
    """Return whether a symbol has a number without a tolerance."""
    patterns = symbol.arguments.values()
    return any(isinstance(pattern, Exact) and is_number(pattern.value) for pattern in patterns)


def choices(symbol: Symbol, call: Call) -> Iterator[tuple[Call, ...]]:
    """Yield the call itself, then it with other numbers, and a dose in two parts."""

    def changed(**numbers: float) -> Call:
        return replace(call, arguments={**call.arguments, **numbers})

    yield (call,)
    for name, pattern in symbol.arguments.items():
        value = call.arguments.get(name)
        if not isinstance(pattern, Exact | Near | Range) or value is None or not is_number(value):
            continue
        if name in AXES:
            low, high = (value - EXACT, value + EXACT) if isinstance(pattern, Exact) else pattern.span
            for share in SHARES:
                yield (changed(**{name: value - share * (value - low)}),)
                yield (changed(**{name: value + share * (high - value)}),)
        else:
            for share in DOSES:
                yield (changed(**{name: share * value}),)
            for part in PARTS if isinstance(pattern, Range) else ():
                yield changed(**{name: part * value}), changed(**{name: value - part * value})
