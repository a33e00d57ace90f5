"""The golden graph unfolded until each state determines which calls of a path are used up.

Then discordant pairs add up along its edges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core_eval.path.golden import GoldenGraph

UNFOLDED_STATES = 60_000
"""Maximum unfolded states; beyond it, those with the fewest discordant pairs are kept, layer by layer."""


def positions_of(path: Sequence[int], most: Mapping[int, int]) -> dict[int, list[int]]:
    """Return the positions of every golden token among the calls that can have a partner.

    `most` says how often each token occurs on a golden path at most.
    """
    found: dict[int, list[int]] = {}
    rank = 0
    for token in path:
        count = most.get(token)
        if count is not None:
            places = found.setdefault(token, [])
            if len(places) < count:
                places.append(rank)
                rank += 1
    return found


@dataclass(frozen=True)
class GoldenEnd:
    """An unfolded state in which golden paths end.

    Attributes:
        node, state, length: its number, the golden graph's state, and the length of the paths.
        pairs: how many calls of the path have a partner in each of them.
        least, most: the discordant pairs of the best and of the worst of them.
    """

    node: int
    state: int
    length: int
    pairs: int
    least: int
    most: int


class OrderGraph:
    """The golden graph unfolded by path length and by the calls of the path that are used up.

    Attributes:
        edges: of each node its `(token, excess, target)`, in topological order. `excess` is what the edge
            adds to the discordant pairs beyond the least that its target can be reached with.
        ends: where golden paths end.
        least_cut: the least discordant pairs of the nodes that were too many and are left out; None where
            all are there.
        pairs: how many calls can have a partner at all.
    """

    def __init__(self, graph: GoldenGraph, path: Sequence[int]) -> None:
        self.least_cut: int | None = None
        places = positions_of(path, graph.most)
        self.pairs = sum(map(len, places.values()))
        # Until all layers are there, an edge's second entry is the pairs that it makes discordant.
        self.edges: list[list[tuple[int, int, int]]] = []
        self._least = [0]
        ends: list[tuple[int, int, int, int]] = []
        widest = max(1, UNFOLDED_STATES // graph.lengths.bit_length())
        layer: dict[tuple[int, int], int] = {(0, 0): 0}
        length = 0
        while layer:
            below: dict[tuple[int, int], int] = {}
            for (state, used), node in layer.items():
                self.edges.append(self._step(graph.edges[state], used, node, places, below))
                if graph.accepting[state]:
                    ends.append((node, state, length, used.bit_count()))
            layer = self._cut(below, widest, len(layer)) if len(below) > widest else below
            length += 1
        most = self._with_excess()
        self.ends = tuple(GoldenEnd(*end, self._least[end[0]], most[end[0]]) for end in ends)

    def _step(
        self,
        steps: Sequence[tuple[int, int]],
        used: int,
        node: int,
        places: Mapping[int, Sequence[int]],
        below: dict[tuple[int, int], int],
    ) -> list[tuple[int, int, int]]:
        """Return the edges of a node, and add their targets to the next layer."""
        out = []
        for token, target in steps:
            cost, mask = 0, used
            for place in places.get(token, ()):
                if not used >> place & 1:
                    cost = (used >> place).bit_count()
                    mask = used | 1 << place
                    break
            least = self._least[node] + cost
            reached = below.get((target, mask))
            if reached is None:
                reached = below[target, mask] = len(self._least)
                self._least.append(least)
            elif least < self._least[reached]:
                self._least[reached] = least
            out.append((token, cost, reached))
        return out

    def _cut(self, below: dict[tuple[int, int], int], widest: int, above: int) -> dict[tuple[int, int], int]:
        """Keep the best states of a layer, and renumber the edges of the layer above."""
        least = self._least
        first = len(self.edges)
        ranked = sorted(below.items(), key=lambda item: least[item[1]])
        kept, cut = ranked[:widest], least[ranked[widest][1]]
        self.least_cut = cut if self.least_cut is None else min(self.least_cut, cut)
        number = {old: first + place for place, (_, old) in enumerate(kept)}
        least[first:] = [least[old] for old in number]
        for node in range(first - above, first):
            self.edges[node] = [
                (token, cost, number[old]) for token, cost, old in self.edges[node] if old in number
            ]
        return {key: number[old] for key, old in kept}

    def _with_excess(self) -> list[int]:
        """Turn each edge's discordant pairs into their excess; give the most pairs of each node."""
        least = self._least
        most = list(least)
        for node, out in enumerate(self.edges):
            for place, (token, cost, target) in enumerate(out):
                most[target] = max(most[target], most[node] + cost)
                out[place] = (token, least[node] + cost - least[target], target)
        return most
