"""The golden ways on from a state, as a small graph of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Suffixes:
    """The golden ways on from a state, as an acyclic graph; node 0 is the state, nodes are in topological
    order.

    Attributes:
        edges: of each node its `(token, target)`.
        accepting: of each node whether a golden path may end there.
        least: of each node the length of the shortest way to it.
        spread: by how much the longest way to a node may be longer than that, at most.
        shortest, longest: the lengths of the shortest and the longest way.
        tokens: the tokens that occur.
    """

    edges: Sequence[Sequence[tuple[int, int]]]
    accepting: Sequence[bool]
    least: Sequence[int]
    spread: int
    shortest: int
    longest: int
    tokens: frozenset[int]


NOWHERE = Suffixes(((),), (True,), (0,), 0, 0, 0, frozenset())
"""For a state on no golden path: candidates stay as they are."""


def ways_on(
    state: int,
    edges: Sequence[Sequence[tuple[int, int]]],
    accepting: Sequence[bool],
) -> Suffixes:
    """Give the accepting ways on from a state of an acyclic graph whose states are numbered in
    topological order.

    NOWHERE if there is none.
    """
    reached = {state}
    for source in range(state, len(edges)):
        if source in reached:
            reached.update(target for _, target in edges[source])
    lead = set()
    for source in sorted(reached, reverse=True):
        if accepting[source] or any(target in lead for _, target in edges[source]):
            lead.add(source)
    if state not in lead:
        return NOWHERE
    place = {source: number for number, source in enumerate(sorted(lead))}
    own = tuple(
        tuple((token, place[target]) for token, target in edges[source] if target in lead) for source in place
    )
    ends = tuple(accepting[source] for source in place)
    least, most = [len(own)] * len(own), [0] * len(own)
    least[0] = 0
    for node, out in enumerate(own):
        for _, target in out:
            least[target] = min(least[target], least[node] + 1)
            most[target] = max(most[target], most[node] + 1)
    shortest = min(length for length, end in zip(least, ends, strict=True) if end)
    longest = max(length for length, end in zip(most, ends, strict=True) if end)
    spread = max(high - low for low, high in zip(least, most, strict=True))
    tokens = frozenset(token for out in own for token, _ in out)
    return Suffixes(own, ends, least, spread, shortest, longest, tokens)
