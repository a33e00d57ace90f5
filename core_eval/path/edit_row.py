"""Alignment of a path with all golden paths at once, one row for every call (PC, eqs 3 and 4)."""

from __future__ import annotations

from core_eval.path.layered_ways import LayeredWays
from core_eval.path.metrics import similarity
from core_eval.path.path_tree import PathTree


class TreeRow:
    """The least edits between the calls so far and the way to every node of a prefix tree."""

    def __init__(self, tree: PathTree) -> None:
        self._tree = tree
        self._row = list(tree.depth)
        self._length = 0

    def advance(self, token: int) -> None:
        """Take one more call of the condensed path."""
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
        """Give the least edits to the way to each node."""
        return self._row

    def best(self) -> float:
        """Give the path correctness of the calls so far."""
        row, length = self._row, self._length
        return max(similarity(length, depth, row[node]) for node, depth in self._tree.leaves)


class GraphRow:
    """The least edits between the calls so far and any way of each length to each state of a graph."""

    def __init__(self, ways: LayeredWays) -> None:
        self._ways = ways
        self._row = list(ways.depth)
        self._length = 0

    def advance(self, token: int) -> None:
        """Take one more call of the condensed path."""
        old = self._row
        new = [old[0] + 1]
        for before, best in zip(self._ways.before, old[1:], strict=True):
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
        """Give the path correctness of the calls so far."""
        row, length = self._row, self._length
        return max(similarity(length, depth, row[node]) for node, depth, _ in self._ways.golden)

    def edits(self) -> dict[tuple[int, int], int]:
        """Give the least edits to any golden way, by the state where it ends and its length."""
        row = self._row
        return {(state, depth): row[node] for node, depth, state in self._ways.golden}
