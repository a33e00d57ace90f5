"""Plans as finite languages, and the smallest automaton of one.

A plan is taken apart step by step: what may follow after a first symbol (Antimirov's partial derivatives,
1996) gives the states, sets of plans that are still open; equivalent states are then merged.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TypeAlias


class _Part:
    """Keeps what is computed of it: plans share parts, and each would be taken apart again and again."""

    __match_args__: tuple[str, ...]

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((type(self), *(getattr(self, name) for name in self.__match_args__)))


@dataclass(frozen=True)
class Step(_Part):
    """One symbol."""

    __hash__ = _Part.__hash__

    symbol: str


@dataclass(frozen=True)
class Sequence(_Part):
    """Parts one after the other; no part is itself a sequence."""

    __hash__ = _Part.__hash__

    parts: tuple[Plan, ...]


@dataclass(frozen=True)
class AnyOrder(_Part):
    """Blocks in any order; the steps of a block are not interleaved with others."""

    __hash__ = _Part.__hash__

    blocks: tuple[Plan, ...]

    @classmethod
    def of(cls, blocks: Iterable[Plan]) -> Plan:
        """Make a plan of blocks in any order."""
        kept = tuple(block for block in blocks if block != EMPTY)
        return cls(kept) if len(kept) > 1 else sequence(*kept)


@dataclass(frozen=True)
class Interleaved(_Part):
    """Blocks side by side: the steps of each keep their order, those of others may come between them."""

    __hash__ = _Part.__hash__

    blocks: tuple[Plan, ...]

    @classmethod
    def of(cls, blocks: Iterable[Plan]) -> Plan:
        """Make a plan of blocks side by side."""
        kept = tuple(block for block in blocks if block != EMPTY)
        return cls(kept) if len(kept) > 1 else sequence(*kept)


@dataclass(frozen=True)
class Choice(_Part):
    """Exactly one of the options."""

    __hash__ = _Part.__hash__

    options: tuple[Plan, ...]

    @classmethod
    def of(cls, options: Iterable[Plan]) -> Plan:
        """Make a plan of options."""
        kept = tuple(dict.fromkeys(options))
        return cls(kept) if len(kept) != 1 else kept[0]


Plan: TypeAlias = Step | Sequence | AnyOrder | Interleaved | Choice

EMPTY = Sequence(())
"""The empty plan."""


def sequence(*parts: Plan) -> Plan:
    """Make a plan of parts one after the other."""
    flat: list[Plan] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Sequence) else (part,))
    return flat[0] if len(flat) == 1 else Sequence(tuple(flat))


def may_end(plan: Plan) -> bool:
    """Return whether the plan may end here."""
    match plan:
        case Step():
            return False
        case Sequence(parts) | AnyOrder(parts) | Interleaved(parts):
            return all(map(may_end, parts))
        case Choice(options):
            return any(map(may_end, options))


def openings(plan: Plan) -> list[tuple[str, Plan]]:
    """Return every first symbol with the plan that follows it, in written order."""
    known = vars(plan)
    if "openings" not in known:
        known["openings"] = _openings(plan)
    found: list[tuple[str, Plan]] = known["openings"]
    return found


def _openings(plan: Plan) -> list[tuple[str, Plan]]:
    match plan:
        case Step(symbol):
            return [(symbol, EMPTY)]
        case Choice(options):
            return [opening for option in options for opening in openings(option)]
        case Sequence(parts):
            found = []
            for place, part in enumerate(parts):
                rest = parts[place + 1 :]
                found += [(symbol, sequence(after, *rest)) for symbol, after in openings(part)]
                if not may_end(part):
                    break
            return found
        case AnyOrder(blocks):
            return [
                (symbol, sequence(after, AnyOrder.of((*blocks[:place], *blocks[place + 1 :]))))
                for place, block in enumerate(blocks)
                if block not in blocks[:place]
                for symbol, after in openings(block)
            ]
        case Interleaved(blocks):
            return [
                (symbol, Interleaved.of((*blocks[:place], after, *blocks[place + 1 :])))
                for place, block in enumerate(blocks)
                for symbol, after in openings(block)
            ]


def minimal_automaton(plan: Plan) -> tuple[list[dict[str, int]], list[int]]:
    """Return the edges of every state, and the accepting states; state 0 is the start."""
    numbers = {frozenset({plan}): 0}
    states = [[plan]]
    edges: list[dict[str, int]] = []
    ends: list[bool] = []
    for state in states:
        after: dict[str, dict[Plan, None]] = {}
        for open_plan in state:
            for symbol, rest in openings(open_plan):
                after.setdefault(symbol, {})[rest] = None
        out = {}
        for symbol, plans in after.items():
            target = frozenset(plans)
            if target not in numbers:
                numbers[target] = len(states)
                states.append(list(plans))
            out[symbol] = numbers[target]
        edges.append(out)
        ends.append(any(map(may_end, state)))
    # Who keeps the plan keeps none of the plans that follow in it.
    for open_plan in chain.from_iterable(states):
        vars(open_plan).pop("openings", None)
    return _merged(edges, ends)


def _merged(edges: list[dict[str, int]], ends: list[bool]) -> tuple[list[dict[str, int]], list[int]]:
    """Merge equivalent states of an acyclic automaton, from the ends backwards."""
    merged: dict[int, int] = {}
    known: dict[tuple[bool, frozenset[tuple[str, int]]], int] = {}
    for state in _ends_first(edges):
        signature = (
            ends[state],
            frozenset((symbol, merged[target]) for symbol, target in edges[state].items()),
        )
        merged[state] = known.setdefault(signature, state)
    number = {merged[0]: 0}
    order = [merged[0]]
    for state in order:
        for target in edges[state].values():
            if merged[target] not in number:
                number[merged[target]] = len(order)
                order.append(merged[target])
    small = [{symbol: number[merged[target]] for symbol, target in edges[state].items()} for state in order]
    return small, [number[state] for state in order if ends[state]]


def _ends_first(edges: list[dict[str, int]]) -> list[int]:
    waiting = [len(out) for out in edges]
    into: list[list[int]] = [[] for _ in edges]
    for source, out in enumerate(edges):
        for target in out.values():
            into[target].append(source)
    order = [state for state, count in enumerate(waiting) if count == 0]
    for state in order:
        for source in into[state]:
            waiting[source] -= 1
            if waiting[source] == 0:
                order.append(source)
    return order
