"""The symbols of a task's alphabet, and the matching of calls to them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

from core_eval.path.calls import Call
from core_eval.path.disc import DOUBT, ROUNDING, Disc
from core_eval.path.facts import Fact
from core_eval.path.patterns import (
    Absent,
    Anything,
    Exact,
    Near,
    Pattern,
    Range,
    may_overlap,
    parse_pattern,
    specificity,
)

ANY_ARGUMENTS = "*"
"""The argument name of a free read's one "anything" pattern: it makes the symbol take any arguments. With an
"absent" pattern it takes none but those that are named."""
_MISSING = object()


@dataclass(frozen=True)
class Symbol:
    """A tool name plus one pattern per argument; arguments that no pattern names are ignored.

    A symbol without any pattern matches only a call without arguments. One with a `fact` matches only a call
    whose answer holds it, or is not known.
    """

    name: str
    tool: str
    arguments: Mapping[str, Pattern]
    fact: Fact | None = None

    @classmethod
    def of_tool(cls, tool: str) -> Symbol:
        """Return the symbol of every call of a tool."""
        return cls(f"{tool}(*)", tool, {ANY_ARGUMENTS: Anything()})

    @classmethod
    def from_plain(cls, written: Mapping[str, Any]) -> Symbol:
        """Return the symbol that `plain` wrote; raises KeyError, TypeError or ValueError for others."""
        patterns = {name: parse_pattern(value) for name, value in written["arguments"].items()}
        fact = Fact.parse(written["fact"]) if "fact" in written else None
        return cls(written["name"], written["tool"], patterns, fact)

    def plain(self) -> dict[str, Any]:
        """Return it JSON-ready."""
        arguments = {name: pattern.plain() for name, pattern in self.arguments.items()}
        written: dict[str, Any] = {"name": self.name, "tool": self.tool, "arguments": arguments}
        return written if self.fact is None else {**written, "fact": self.fact.written}

    @property
    def is_free_read(self) -> bool:
        """Whether it is a read with any arguments, which may be called at any time."""
        return self.fact is None and ANY_ARGUMENTS in self.arguments and not self.is_closed

    @cached_property
    def is_closed(self) -> bool:
        """Whether it takes no arguments but those that it names."""
        return isinstance(self.arguments.get(ANY_ARGUMENTS), Absent)

    @cached_property
    def is_part(self) -> bool:
        """Whether it makes a part of what a step asks for: a golden path without it needs fewer calls."""
        return any(isinstance(pattern, Range) and pattern.part for pattern in self.arguments.values())

    @cached_property
    def _together(self) -> tuple[tuple[str, Near], ...]:
        return tuple(
            (name, pattern)
            for name, pattern in self.arguments.items()
            if isinstance(pattern, Near) and pattern.together
        )

    def matches(self, call: Call) -> bool:
        """Return whether a call matches this symbol."""
        return call.name == self.tool and self.fits(call.arguments) and self.is_told(call)

    def is_told(self, call: Call) -> bool:
        """Return whether the call's answer holds the fact, or is not known."""
        return self.fact is None or call.result is None or self.fact.holds(call.result)

    def fits(self, arguments: Mapping[str, Any]) -> bool:
        """Return whether the arguments fit, given that the tool does."""
        if not self.arguments:
            return not arguments
        if self.is_closed and not arguments.keys() <= self.arguments.keys():
            return False
        given = arguments.get
        for name, pattern, kind, value in self._checks:
            said = given(name, _MISSING)
            if type(said) is kind:
                if said != value:
                    return False
            elif not (pattern.may_be_missing if said is _MISSING else pattern.holds(said)):
                return False
        if not self._together:
            return True
        # The distance that patterns bound together, as a share of their tolerances.
        share = math.hypot(*(pattern.share(arguments[name]) for name, pattern in self._together))
        if self.disc is not None and abs(share - 1) < DOUBT:
            x, y, disc = self.disc
            return disc.holds(arguments[x], arguments[y])
        return share <= 1 + ROUNDING

    @cached_property
    def _checks(self) -> tuple[tuple[str, Pattern, type | None, Any], ...]:
        """The patterns by argument; of an exact value of a plain type, that type and the value.

        Any argument fits one that may be anything, or missing.
        """
        return tuple(
            (name, pattern, type(pattern.value), pattern.value)
            if isinstance(pattern, Exact) and type(pattern.value) in (str, int, float)
            else (name, pattern, None, None)
            for name, pattern in self.arguments.items()
            if not (isinstance(pattern, Anything) and pattern.may_be_missing)
        )

    @cached_property
    def disc(self) -> tuple[str, str, Disc] | None:
        """The two arguments whose patterns bound one distance, and the places within it."""
        if len(self._together) != 2:
            return None
        (x, near_x), (y, near_y) = self._together
        disc = Disc.of(near_x, near_y)
        return None if disc is None else (x, y, disc)

    def example(self) -> dict[str, Any]:
        """Return matching arguments: exact values, centres, the first of a set; none that are optional."""
        return {
            name: pattern.example() for name, pattern in self.arguments.items() if not pattern.may_be_missing
        }

    @cached_property
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
        # Of discs and balls around places.
        if self._together and [name for name, _ in self._together] == [name for name, _ in other._together]:
            apart = math.dist(*([one.value for _, one in each._together] for each in (self, other)))
            if apart > sum(
                max(one.span[1] - one.value for _, one in each._together) for each in (self, other)
            ):
                return False
        return all(
            may_overlap(self.arguments[name], other.arguments[name])
            or (self.arguments[name].may_be_missing and other.arguments[name].may_be_missing)
            for name in shared
        )


def most_specific_first(symbols: Iterable[Symbol]) -> dict[str, list[Symbol]]:
    """Return each tool's symbols: most exact arguments first, then most constrained ones, then file order.

    Those that ask for a fact come before all others.
    """
    by_tool: dict[str, list[Symbol]] = {}
    for symbol in symbols:
        by_tool.setdefault(symbol.tool, []).append(symbol)
    for same_tool in by_tool.values():
        same_tool.sort(key=lambda symbol: (symbol.fact is not None, symbol.specificity), reverse=True)
    return by_tool


def ties(same_tool: Sequence[Symbol]) -> Iterator[tuple[Symbol, Symbol]]:
    """Yield the pairs of a tool's symbols, in this order, that one call could match equally well.

    A free read's symbol matches only what no other symbol of its tool does, so it ties with none; nor does
    one that asks for a fact, which is passed over where the state has no edge for it.
    """
    for place, rival in _candidates(same_tool):
        first, second = same_tool[place], same_tool[rival]
        if second.is_free_read or first.fact is not None or second.fact is not None:
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
