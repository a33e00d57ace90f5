"""PC-KTC (eq 5): edits and order of the same golden path, without listing golden paths.

On a prefix tree every golden path is one node, and the edits of `TreeRow` and the discordant pairs
counted along the tree give the exact maximum. On an acyclic graph the states are unfolded until a state
fixes which tokens of the path the golden way has used up; then discordant pairs add up along edges, and
for every number of edits the reachable (discordant pairs, position) are the bits of one integer per state
(Wu and Manber's bit-parallel alignment, with a second dimension).
"""

from __future__ import annotations

from collections.abc import Sequence

from core_eval.path.bits import repeated
from core_eval.path.golden import GoldenGraph
from core_eval.path.metrics import concordance, similarity
from core_eval.path.path_tree import PathTree

UNFOLDED_STATES = 60_000
"""Beyond this many unfolded states PC-KTC is given as bounds."""


def positions_of(path: Sequence[int]) -> dict[int, list[int]]:
    """Give for every symbol of a condensed path the positions where it stands."""
    found: dict[int, list[int]] = {}
    for place, token in enumerate(path):
        if token >= 0:
            found.setdefault(token, []).append(place)
    return found


def on_tree(tree: PathTree, path: Sequence[int], edits: Sequence[int], lam: float) -> float:
    """Give the greatest `lam*PC + (1-lam)*tau+` over the golden paths of a prefix tree.

    `edits` are the least edits between the path and the way to each node.
    """
    places = positions_of(path)
    used = [0]
    discordant = [0]
    for parent, token, occurrence in tree.steps:
        mask, count = used[parent], discordant[parent]
        where = places.get(token)
        if where is not None and occurrence < len(where):
            place = where[occurrence]
            count += (mask >> place).bit_count()
            mask |= 1 << place
        used.append(mask)
        discordant.append(count)
    length = len(path)
    return max(
        lam * similarity(length, depth, edits[node])
        + (1.0 - lam) * concordance(used[node].bit_count(), discordant[node])
        for node, depth in tree.leaves
    )


class _Unfolded:
    """The golden graph unfolded by path length and by the positions of the path that are used up.

    A layer of too many states keeps those with the fewest discordant pairs, and the graph is not `complete`.
    """

    def __init__(self, graph: GoldenGraph, path: Sequence[int]) -> None:
        self.complete = True
        self.edges: list[list[tuple[int, int, int]]] = []
        self.golden: list[tuple[int, int, int, int]] = []
        places = positions_of(path)
        matches = {token: sum(1 << place for place in where) for token, where in places.items()}
        widest = UNFOLDED_STATES // graph.lengths.bit_length()
        layer: dict[tuple[int, int], int] = {(0, 0): 0}
        least = [0]
        length = 0
        while layer:
            below: dict[tuple[int, int], int] = {}
            for (state, used), node in layer.items():
                out = []
                sofar = least[node]
                for token, target in graph.edges[state]:
                    cost, mask = 0, used
                    for place in places.get(token, ()):
                        if not used >> place & 1:
                            cost = (used >> place).bit_count()
                            mask = used | 1 << place
                            break
                    key = (target, mask)
                    reached = below.get(key)
                    if reached is None:
                        reached = below[key] = len(least)
                        least.append(sofar + cost)
                    elif sofar + cost < least[reached]:
                        least[reached] = sofar + cost
                    out.append((matches.get(token, 0), cost, reached))
                self.edges.append(out)
                if graph.accepting[state]:
                    self.golden.append((node, length, used.bit_count(), sofar))
            if len(below) > widest:
                below = self._cut(below, least, widest, len(layer))
            layer = below
            length += 1

    def _cut(
        self, below: dict[tuple[int, int], int], least: list[int], widest: int, above: int
    ) -> dict[tuple[int, int], int]:
        """Keep the best states of a layer, and renumber the edges of the layer above."""
        self.complete = False
        first = len(self.edges)
        kept = sorted(below.items(), key=lambda item: least[item[1]])[:widest]
        number = {old: first + place for place, (_, old) in enumerate(kept)}
        least[first:] = [least[old] for old in number]
        for node in range(first - above, first):
            self.edges[node] = [
                (match, cost, number[old]) for match, cost, old in self.edges[node] if old in number
            ]
        return {key: number[old] for key, old in kept}


def on_graph(graph: GoldenGraph, path: Sequence[int], lam: float) -> tuple[float, bool]:
    """Give the same maximum on an acyclic graph, and whether it is exact.

    It is a lower bound where the unfolded states would be too many.

    Edits are counted beyond `|path| - |golden|`: a call left unmatched is free, a golden step that is
    replaced costs one, one that is left out costs two. So the number of rounds is bounded by the golden
    length alone.
    """
    unfolded = _Unfolded(graph, path)
    calls = len(path)
    if lam == 0.0:
        return max(concordance(pairs, least) for *_, pairs, least in unfolded.golden), unfolded.complete
    most = max(pairs for _, _, pairs, _ in unfolded.golden)
    blocks, width = most * (most - 1) // 2 + 1, calls + 2
    ones = repeated(1, width, blocks)
    valid, guard = ones * ((2 << calls) - 1), ones << (calls + 1)
    edges = [[(ones * match, cost * width, target) for match, cost, target in out] for out in unfolded.edges]
    waiting = unfolded.golden
    last = [0] * len(edges)
    last_but_one = last
    best = 0.0
    extra = 0
    while True:
        now = [0] * len(edges)
        now[0] = 1
        for node, out in enumerate(edges):
            bits = now[node] & valid
            bits |= (guard - bits) & valid
            now[node] = bits
            if not bits:
                continue
            moved = last[node] << 1 | last_but_one[node]
            for match, shift, target in out:
                now[target] |= ((bits & match) << 1 | moved) << shift
        still = []
        for golden in waiting:
            node, length, pairs, least = golden
            ends = now[node] & (ones << calls)
            reached = -1
            if ends:
                reached = ((ends & -ends).bit_length() - 1) // width
                edits = calls - length + extra
                value = lam * similarity(calls, length, edits) + (1.0 - lam) * concordance(pairs, reached)
                best = max(best, value)
            if reached != least:
                still.append(golden)
        waiting = still
        extra += 1
        bound = 0.0
        for _, length, pairs, least in waiting:
            edits = max(calls - length + extra, max(calls, length) - pairs)
            bound = max(
                bound, lam * similarity(calls, length, edits) + (1.0 - lam) * concordance(pairs, least)
            )
        if bound <= best:
            return best, unfolded.complete
        last_but_one, last = last, now
