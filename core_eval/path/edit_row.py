"""Aligns a path with all golden paths at once, one row per call (PC, eqs 3 and 4)."""

from __future__ import annotations

from core_eval.path.metrics import similarity
from core_eval.path.prefix_tree import PrefixTree
from core_eval.path.unfolded_graph import UnfoldedGraph


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
        return max(similarity(length, depth, row[node]) for node, depth, _ in self._graph.golden)

    def edits(self) -> dict[tuple[int, int], int]:
        """Return the least edit distance to any golden path, by its end state and length."""
        row = self._row
        return {(state, depth): row[node] for node, depth, state in self._graph.golden}
