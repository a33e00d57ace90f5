"""The symbols of a task's alphabet, and the matching of calls to them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

from core_eval.path.patterns import Exact, Pattern, may_overlap, specificity

ANY_ARGUMENTS = "*"
"""The argument name of a free read's one "anything" pattern: it makes the symbol take any arguments."""


@dataclass(frozen=True)
class Symbol:
    """A tool name plus one pattern per argument; arguments that no pattern names are ignored.

    A symbol without any pattern matches only a call without arguments.
    """

    name: str
    tool: str
    arguments: Mapping[str, Pattern]

    def matches(self, call_name: str, arguments: Mapping[str, Any]) -> bool:
        """Return whether a call matches this symbol."""
        return call_name == self.tool and self.fits(arguments)

    def fits(self, arguments: Mapping[str, Any]) -> bool:
        """Return whether the arguments fit, given that the tool does."""
        if not self.arguments:
            return not arguments
        for name, pattern in self.arguments.items():
            if name in arguments:
                if not pattern.holds(arguments[name]):
                    return False
            elif not pattern.may_be_missing:
                return False
        return True

    def example(self) -> dict[str, Any]:
        """Return matching arguments: exact values, centres, the first of a set; none that are optional."""
        return {
            name: pattern.example() for name, pattern in self.arguments.items() if not pattern.may_be_missing
        }

    @property
    def specificity(self) -> tuple[int, int]:
        """How many arguments are exact, and how many are constrained at all."""
        ranks = [specificity(pattern) for pattern in self.arguments.values()]
        return sum(rank[0] for rank in ranks), sum(rank[1] for rank in ranks)

    def may_overlap(self, other: Symbol) -> bool:
        """Return whether one call could match both symbols."""
        if self.tool != other.tool:
            return False
        if not self.arguments or not other.arguments:
            both = (*self.arguments.values(), *other.arguments.values())
            return all(pattern.may_be_missing for pattern in both)
        shared = self.arguments.keys() & other.arguments.keys()
        return all(
            may_overlap(self.arguments[name], other.arguments[name])
            or (self.arguments[name].may_be_missing and other.arguments[name].may_be_missing)
            for name in shared
        )


def most_specific_first(symbols: Iterable[Symbol]) -> dict[str, list[Symbol]]:
    """Return each tool's symbols: most exact arguments first, then most constrained ones, then file order."""
    by_tool: dict[str, list[Symbol]] = {}
    for symbol in symbols:
        by_tool.setdefault(symbol.tool, []).append(symbol)
    for same_tool in by_tool.values():
        same_tool.sort(key=lambda symbol: symbol.specificity, reverse=True)
    return by_tool


def ties(same_tool: Sequence[Symbol]) -> Iterator[tuple[Symbol, Symbol]]:
    """Yield the pairs of a tool's symbols, in this order, that one call could match equally well.

    A free read's symbol matches only what no other symbol of its tool does, so it ties with none.
    """
    for place, rival in _candidates(same_tool):
        first, second = same_tool[place], same_tool[rival]
        if ANY_ARGUMENTS in second.arguments:
            continue
        if first.specificity == second.specificity and first.may_overlap(second):
            yield first, second


def _candidates(symbols: Sequence[Symbol]) -> list[tuple[int, int]]:
    """Return the index pairs of symbols that no argument separates by different exact values, in order.

    Such an argument separates most pairs among thousands of symbols of one tool.
    """
    groups: dict[tuple[str, ...], list[int]] = {}
    for place, symbol in enumerate(symbols):
        exact = (name for name, pattern in symbol.arguments.items() if isinstance(pattern, Exact))
        groups.setdefault(tuple(sorted(exact)), []).append(place)
    pairs = set()
    for (names, places), (others, rivals) in combinations_with_replacement(groups.items(), 2):
        shared = sorted(set(names) & set(others))
        alike: dict[tuple[Hashable, ...], list[int]] = {}
        for place in rivals:
            alike.setdefault(_values(symbols[place], shared), []).append(place)
        for place in places:
            for rival in alike.get(_values(symbols[place], shared), ()):
                if place != rival:
                    pairs.add((min(place, rival), max(place, rival)))
    return sorted(pairs)


def _values(symbol: Symbol, names: Sequence[str]) -> tuple[Hashable, ...]:
    """Return the exact values of arguments, the same for equal ones; of lists and objects only how long they
    are.
    """
    values = (symbol.arguments[name].example() for name in names)
    return tuple(len(value) if isinstance(value, list | tuple | Mapping) else value for value in values)
