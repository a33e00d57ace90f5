"""An automaton whose symbols are replaced by others: each by one, or by several in a row."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from core_eval.path.symbols import Symbol

Edges = Mapping[tuple[str, str], str]


@dataclass(frozen=True)
class Substituted:
    """What is left to make an automaton of; the start is the first state."""

    states: tuple[str, ...]
    symbols: tuple[Symbol, ...]
    accepting: frozenset[str]
    delta: Edges


def substituted(
    start: str, accepting: Collection[str], delta: Edges, into: Mapping[str, Sequence[Symbol]]
) -> Substituted:
    """Return an automaton's reachable part with each symbol replaced by those in `into`, in a row.

    Symbols that match the same calls become one. Where two edges of a state begin alike then (two steps to
    the right, or three), the state after is the set of theirs: the subset construction. Self-loops of a state
    hold between the calls of a row that begins there, too.
    """
    known: list[Symbol] = []
    rows = {name: [_known(symbol, known) for symbol in row] for name, row in into.items()}
    loops: dict[str, dict[str, None]] = {}
    for (source, name), target in delta.items():
        if source == target:
            loops.setdefault(source, {}).update(dict.fromkeys(rows[name]))
    edges: dict[str, list[tuple[str, str]]] = {}
    for (source, name), target in delta.items():
        between, row = source, rows[name]
        for place, symbol in enumerate(row if source != target else ()):
            after = target if place == len(row) - 1 else f"{source} {name} {place + 1}"
            edges.setdefault(between, []).append((symbol, after))
            if after != target:
                loops[after] = loops.get(source, {})
            between = after

    def follow(states: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
        """Return where each symbol leads from a set of states; where it only loops, to the same set."""
        ahead: dict[str, dict[str, None]] = {}
        for state in states:
            for symbol, after in edges.get(state, ()):
                ahead.setdefault(symbol, {})[after] = None
        looping: dict[str, dict[str, None]] = {}
        for state in states:
            for symbol in loops.get(state, ()):
                looping.setdefault(symbol, {})[state] = None
        found = {symbol: tuple(sorted({*after, *looping.get(symbol, ())})) for symbol, after in ahead.items()}
        return found | {symbol: states for symbol in looping if symbol not in ahead}

    reached: dict[tuple[str, ...], str] = {(start,): start}
    made: dict[tuple[str, str], str] = {}
    todo = [*reached]
    while todo:
        states = todo.pop(0)
        for symbol, following in follow(states).items():
            if following not in reached:
                reached[following] = " or ".join(following)
                todo.append(following)
            made[reached[states], symbol] = reached[following]
    ends = frozenset(name for states, name in reached.items() if not set(accepting).isdisjoint(states))
    return Substituted(tuple(reached.values()), tuple(known), ends, made)


def _known(symbol: Symbol, known: list[Symbol]) -> str:
    """Return the name of the symbol that matches the same calls, which is this one if it is new."""
    for other in known:
        if (other.tool, other.arguments) == (symbol.tool, symbol.arguments):
            return other.name
    known.append(symbol)
    return symbol.name
