"""PC-KTC (eq 5): edits and order against the same golden path, without enumerating golden paths.

On a prefix tree every golden path is one node, and the edits of `TreeRow` and the discordant pairs
counted along the tree give the exact maximum. On an acyclic graph the states are graph until
discordant pairs add up along edges; then, for every number of edits, the reachable (discordant pairs,
position) are the bits of one integer per state (Wu and Manber's bit-parallel alignment, with a second
dimension).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from core_eval.path.candidates import repeated
from core_eval.path.golden import GoldenGraph
from core_eval.path.metrics import concordance, similarity
from core_eval.path.order_graph import GoldenEnd, OrderGraph, positions_of
from core_eval.path.prefix_tree import PrefixTree

WORK = 400_000_000
"""After about this many processed machine words (about two seconds) PC-KTC is given as bounds."""
STEP_WORK = 80
"""The cost of an edge in one round beyond its bits, in the same unit."""
KEPT_WORDS = 8_000_000
"""Maximum size of the bits in memory, in machine words."""


def on_tree(tree: PrefixTree, path: Sequence[int], edits: Sequence[int], lam: float) -> float:
    """Return the greatest `lam*PC + (1-lam)*tau+` over the golden paths of a prefix tree.

    `edits` are the edit distances between the path and the path to each node.
    """
    places = positions_of(path, tree.most)
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


def on_graph(
    graph: GoldenGraph, path: Sequence[int], edits: Mapping[tuple[int, int], int], lam: float
) -> tuple[float, float]:
    """Return a lower and an upper bound, equal where it is exact, of the same maximum on an acyclic graph.

    `edits` holds the least edit distance to any golden path by its end state and length (`GraphRow`).
    """
    search = OrderSearch(OrderGraph(graph, path), path, edits, lam)
    search.run()
    return search.low, search.high


class OrderSearch:
    """Narrows `low` and `high`, the bounds of the maximum, by aligning the path with the graph graph.

    The excess of a golden path is its discordant pairs beyond the fewest that its end can be reached with.
    The first pass follows the paths without excess, each later one those of up to four times as much, until
    no path beyond can be better than the best one found, or WORK or KEPT_WORDS is used up.

    Attributes:
        low, high: the bounds so far; equal where they are exact.
        bits: how many bits the states of the widest pass held together.
    """

    def __init__(
        self,
        graph: OrderGraph,
        path: Sequence[int],
        edits: Mapping[tuple[int, int], int],
        lam: float,
    ) -> None:
        self.bits = 0
        self._graph, self._edges, self._path, self._lam = graph, graph.edges, path, lam
        self._ends = [(end, edits[end.state, end.length]) for end in graph.ends]
        self._most_excess = max(end.most - end.least for end in graph.ends)
        self._left = WORK
        calls = len(path)
        self._correctness = max(similarity(calls, length, least) for (_, length), least in edits.items())
        # No alignment costs more than the longer of the two, and no order is worth less than 0.
        worst = (self._value(end, max(calls, end.length), end.least) for end, _ in self._ends)
        self.low = max(lam * self._correctness, *worst)
        self.high, longer = max((self._value(end, least, end.least), end.length) for end, least in self._ends)
        # Either the calls that find no partner are free, or the golden steps: rounds are spent on the others,
        # and these are few where there must be many of those.
        self._steps_free = longer > calls

    def _value(self, end: GoldenEnd, edits: int, discordant: int) -> float:
        correctness = similarity(len(self._path), end.length, edits)
        return self._lam * correctness + (1.0 - self._lam) * concordance(end.pairs, discordant)

    def _beyond(self, excess: int) -> float:
        """Bound the golden paths of that excess and more; 0 where there are none."""
        return max(
            (
                self._value(end, least, end.least + excess)
                for end, least in self._ends
                if end.most - end.least >= excess
            ),
            default=0.0,
        )

    def run(self) -> None:
        """Narrow the bounds as far as possible."""
        self._widen()
        cut = self._graph.least_cut
        if cut is not None:
            # The only bound known for the paths that were cut.
            order = max(0.5, concordance(self._graph.pairs, cut))
            self.high = max(self.high, self._lam * self._correctness + (1.0 - self._lam) * order)
        self.high = max(self.low, self.high)

    def _widen(self) -> None:
        """Run pass after pass over the graph graph."""
        blocks = 1
        while self.low < self.high:
            bits = blocks * (len(self._path) + 2)
            if 3 * len(self._edges) * (bits // 64 + 1) > KEPT_WORDS:
                return
            self.bits = bits * len(self._edges)
            within = self._pass(blocks)
            self.high = min(self.high, max(self.low, within, self._beyond(blocks)))
            if within > self.low:
                return
            enough = bisect_left(
                range(self._most_excess + 1), True, key=lambda excess: self._beyond(excess) <= self.low
            )
            blocks = min(4 * blocks, enough)

    def _pass(self, blocks: int) -> float:
        """Raise `low` to the best golden path of an excess below `blocks`; give an upper bound of these.

        Each round allows one more edit beyond those that the lengths require. Where steps are free,
        a golden step that is left out costs nothing, one that is replaced one, a call left out two; else a
        call that is left out costs nothing, and a golden step two.
        """
        calls, free = len(self._path), self._steps_free
        width = calls + 2
        ones = repeated(1, width, blocks)
        valid, guard, last_place = ones * ((2 << calls) - 1), ones << (calls + 1), ones << calls
        matches: dict[int, int] = {}
        for place, token in enumerate(self._path):
            if token >= 0:
                matches[token] = matches.get(token, 0) | ones << place
        edges = [
            [
                (matches.get(token, 0), excess * width, target)
                for token, excess, target in out
                if excess < blocks
            ]
            for out in self._edges
        ]
        steps = sum(map(len, edges))
        waiting = self._ends
        last = last_but_one = [0] * len(edges)
        extra = 0
        while True:
            waiting = [
                (end, least)
                for end, least in waiting
                if self._value(end, max(least, self._edits(end, extra)), end.least) > self.low
            ]
            if not waiting or self._left <= 0:
                break
            size = 0
            now = [0] * len(edges)
            now[0] = 1
            for node, out in enumerate(edges):
                bits = now[node] & valid
                bits |= (last_but_one[node] << 1 & valid) if free else (guard - bits) & valid
                now[node] = bits
                if not bits:
                    continue
                size += bits.bit_length() * len(out)
                moved = last[node] << 1 | (bits if free else last_but_one[node])
                for match, shift, target in out:
                    now[target] |= ((bits & match) << 1 | moved) << shift
            for end, _ in waiting:
                reached = now[end.node] & last_place
                if reached:
                    excess = ((reached & -reached).bit_length() - 1) // width
                    value = self._value(end, self._edits(end, extra), end.least + excess)
                    self.low = max(self.low, value)
            self._left -= steps * STEP_WORK + size // 64
            last_but_one, last = last, now
            extra += 1
        return max(
            (self._value(end, max(least, self._edits(end, extra)), end.least) for end, least in waiting),
            default=0.0,
        )

    def _edits(self, end: GoldenEnd, extra: int) -> int:
        """Return the edits of an alignment with `extra` edits beyond those that the lengths require."""
        more = end.length - len(self._path)
        return extra + (more if self._steps_free else -more)
