"""The symbols of traces: which calls of a tool are the same, as far as accepted traces tell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from core_eval.path.calls import Call
from core_eval.path.patterns import Anything, Exact, Pattern, Range
from core_eval.path.symbols import Symbol
from core_eval.text.values import is_number, value_key

NEAR = 0.1
"""Numbers whose gap is a smaller share of the larger one, and that are no whole numbers, are the same."""
MOST_TEXTS = 0.5
"""Texts of several words that differ in a larger share of a tool's calls are free."""
FEWEST_TEXTS = 4
"""So many calls at least must show that."""


class Alphabet:
    """The symbols of calls.

    Args:
        calls: all calls of the accepted traces.

    Attributes:
        symbols: by name.
        generalised: the names of those that fit more than the calls that were seen.
    """

    def __init__(self, calls: Iterable[Call]) -> None:
        by_tool: dict[str, list[Call]] = defaultdict(list)
        for call in calls:
            by_tool[call.name].append(call)
        self.symbols: dict[str, Symbol] = {}
        self.generalised: set[str] = set()
        for tool, made in by_tool.items():
            self._learn(tool, made)

    def _learn(self, tool: str, calls: Sequence[Call]) -> None:
        values: dict[str, list[Any]] = defaultdict(list)
        for call in calls:
            for name, value in call.arguments.items():
                values[name].append(value)
        patterns = {name: _patterns(given) for name, given in values.items()}
        # An argument that is sometimes left out, and else always the same, tells nothing.
        told = [n for n, given in values.items() if len(given) == len(calls) or len(patterns[n]) > 1]
        for call in calls:
            found = {
                name: _fitting(patterns[name], call.arguments[name])
                for name in told
                if name in call.arguments
            }
            text = ", ".join(f"{name}{pattern}" for name, pattern in found.items())
            free = {name: Anything() for name in values if name not in told}
            symbol = Symbol(f"{tool}({text})", tool, found | free)
            self.symbols[symbol.name] = symbol
            if len(told) < len(values) or any(isinstance(one, Range | Anything) for one in found.values()):
                self.generalised.add(symbol.name)

    def name(self, call: Call) -> str | None:
        """Return the most specific symbol that a call fits; None for a call unlike those that were seen."""
        fitting = [one for one in self.symbols.values() if one.matches(call)]
        return max(fitting, key=lambda one: one.specificity).name if fitting else None


def _patterns(values: Sequence[Any]) -> list[Pattern]:
    """Return the patterns that an argument's values fall into."""
    distinct: Mapping[str, Any] = {value_key(value): value for value in values}
    if all(is_number(value) for value in values):
        return _clusters(sorted(distinct.values()))
    if (
        len(values) >= FEWEST_TEXTS
        and len(distinct) > MOST_TEXTS * len(values)
        and all(isinstance(value, str) for value in values)
        and any(" " in value.strip() for value in values)
    ):
        return [Anything(values[0])]
    return [Exact(value) for value in distinct.values()]


def _clusters(numbers: Sequence[float]) -> list[Pattern]:
    if all(float(number).is_integer() for number in numbers):
        return [Exact(number) for number in numbers]
    groups = [[numbers[0]]]
    for number in numbers[1:]:
        last = groups[-1][-1]
        if number - last <= NEAR * max(abs(number), abs(last)):
            groups[-1].append(number)
        else:
            groups.append([number])
    found: list[Pattern] = []
    for group in groups:
        room = (group[-1] - group[0]) / 2
        found.append(Range(group[0] - room, group[-1] + room, near=group[0]) if room else Exact(group[0]))
    return found


def _fitting(patterns: Sequence[Pattern], value: Any) -> Pattern:
    return next(pattern for pattern in patterns if pattern.holds(value))
