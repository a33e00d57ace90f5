"""The graph of the golden suffixes of a state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class SuffixGraph:
    """The golden suffixes of a state, as an acyclic graph in topological order; node 0 is the state.

    Attributes:
        edges: of each node its `(token, target)`.
        accepting: of each node whether a golden path may end there.
        least: of each node the length of the shortest path to it.
        spread: the largest difference between the longest and the shortest path to a node.
        shortest, longest: the lengths of the shortest and the longest suffix.
        tokens: the tokens that occur.
    """

    edges: Sequence[Sequence[tuple[int, int]]]
    accepting: Sequence[bool]
    least: Sequence[int]
    spread: int
    shortest: int
    longest: int
    tokens: frozenset[int]


NO_SUFFIXES = SuffixGraph(((),), (True,), (0,), 0, 0, 0, frozenset())
"""For a state on no golden path: candidates are not extended."""


def suffix_graph(
    state: int,
    edges: Sequence[Sequence[tuple[int, int]]],
    accepting: Sequence[bool],
) -> SuffixGraph:
    """Return the accepting suffixes of a state; NO_SUFFIXES if there are none.

    The graph is acyclic, and its states are numbered in topological order.
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
        return NO_SUFFIXES
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
    return SuffixGraph(own, ends, least, spread, shortest, longest, tokens)
