"""Aligns a path with all golden paths at once (PC, eqs 3 and 4): by rows, one per call, or by bits."""

from __future__ import annotations

from collections.abc import Sequence

from core_eval.path.metrics import similarity
from core_eval.path.prefix_tree import PrefixTree
from core_eval.path.unfolded_graph import UnfoldedGraph

ROWED = 4_096
"""Up to this many nodes times calls, rows are faster than bits."""
NODE_WORK = 16
"""The cost of a node beyond its bits, in machine words."""


def tree_work(tree: PrefixTree, calls: int) -> int:
    """Return how many machine words `tree_edits` processes."""
    return len(tree) * (calls // 64 + NODE_WORK)


def tree_edits(tree: PrefixTree, path: Sequence[int]) -> list[int]:
    """Return the edit distance between a path and the path to each node of a prefix tree.

    A node has its column of the distances, one for each prefix of the path, as two sets of bits: where they
    rise and where they fall from one prefix to the next (Myers 1999, Hyyro 2003). Each follows from that of
    its parent by a few operations on whole integers, so the time grows with nodes times calls / 64.
    """
    calls = len(path)
    if not calls or len(tree) * calls <= ROWED:
        row = TreeRow(tree)
        for token in path:
            row.advance(token)
        return row.edits()
    places: dict[int, int] = {}
    for place, token in enumerate(path):
        if token >= 0:
            places[token] = places.get(token, 0) | 1 << place
    every, last = (1 << calls) - 1, calls - 1
    children = [0] * len(tree)
    for parent in tree.parent[1:]:
        children[parent] += 1
    edits = [calls]
    columns: dict[int, tuple[int, int]] = {0: (every, 0)}
    for node, (parent, token, _) in enumerate(tree.steps, 1):
        up, down = columns[parent]
        children[parent] -= 1
        if not children[parent]:
            del columns[parent]
        equal = places.get(token, 0)
        diagonal = ((equal & up) + up ^ up) | equal | down
        right = (down | ~(diagonal | up)) & every
        left = diagonal & up
        edits.append(edits[parent] + (right >> last & 1) - (left >> last & 1))
        if children[node]:
            right = right << 1 | 1
            columns[node] = ((left << 1 | ~(diagonal | right)) & every, right & diagonal & every)
    return edits


class TreeRow:
    """The edit distances between the calls so far and the path to every node of a prefix tree."""

    def __init__(self, tree: PrefixTree) -> None:
        self._tree = tree
        self._row = list(tree.depth)
        self._length = 0

    def advance(self, token: int) -> None:
        """Append one call of the condensed path."""
        old = self._row
        new = [old[0] + 1]
        add = new.append
        for (parent, symbol, _), stay in zip(self._tree.steps, old[1:], strict=True):
            best = old[parent]
            if symbol == token:
                best -= 1
            if stay < best:
                best = stay
            if new[parent] < best:
                best = new[parent]
            add(best + 1)
        self._row = new
        self._length += 1

    def edits(self) -> list[int]:
        """Return the edit distance to the path of each node."""
        return self._row

    def best(self) -> float:
        """Return the path correctness of the calls so far."""
        row, length = self._row, self._length
        return max(similarity(length, depth, row[node]) for node, depth in self._tree.leaves)


class GraphRow:
    """The edit distances between the calls so far and the paths of each length to each state of a graph."""

    def __init__(self, graph: UnfoldedGraph) -> None:
        self._graph = graph
        self._row = list(graph.depth)
        self._length = 0

    def advance(self, token: int) -> None:
        """Append one call of the condensed path."""
        old = self._row
        new = [old[0] + 1]
        for before, best in zip(self._graph.before, old[1:], strict=True):
            for source, symbol in before:
                both = old[source]
                if symbol == token:
                    both -= 1
                if both < best:
                    best = both
                if new[source] < best:
                    best = new[source]
            new.append(best + 1)
        self._row = new
        self._length += 1

    def best(self) -> float:
        """Return the path correctness of the calls so far."""
        row, length = self._row, self._length
        found = (similarity(length, depth, row[node]) for node, depth, _ in self._graph.golden)
        return max(found, default=0.0)

    def edits(self) -> dict[tuple[int, int], int]:
        """Return the least edit distance to any golden path, by its end state and length."""
        row = self._row
        return {(state, depth): row[node] for node, depth, state in self._graph.golden}
