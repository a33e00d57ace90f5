"""Alignment of a path with all golden paths at once, one row for every call (PC, eqs 3 and 4)."""

from __future__ import annotations

from core_eval.path.golden import GoldenGraph, PathTree
from core_eval.path.metrics import similarity


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
            best = new[parent]
            if stay < best:
                best = stay
            best += 1
            both = old[parent] if symbol == token else old[parent] + 1
            add(both if both < best else best)
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
    """The least edits between the calls so far and any way of each length to each state of a graph.

    Ways of more than `longest` steps are left out; without it the graph must be acyclic.
    """

    def __init__(self, graph: GoldenGraph, longest: int | None = None) -> None:
        nodes: dict[tuple[int, int], int] = {(0, 0): 0}
        before: list[list[tuple[int, int]]] = [[]]
        depth = [0]
        todo = [(0, 0)]
        for key in todo:
            state, length = key
            if length == longest:
                continue
            for token, target in graph.edges[state]:
                reached = (target, length + 1)
                if reached not in nodes:
                    nodes[reached] = len(depth)
                    before.append([])
                    depth.append(length + 1)
                    todo.append(reached)
                before[nodes[reached]].append((nodes[key], token))
        self._before = [tuple(edges) for edges in before]
        self._golden = tuple((node, key[1]) for key, node in nodes.items() if graph.accepting[key[0]])
        self._row = depth
        self._length = 0

    def advance(self, token: int) -> None:
        """Take one more call of the condensed path."""
        old = self._row
        new = [old[0] + 1]
        for node in range(1, len(old)):
            best = old[node] + 1
            for source, symbol in self._before[node]:
                both = old[source] if symbol == token else old[source] + 1
                if both < best:
                    best = both
                if new[source] < best - 1:
                    best = new[source] + 1
            new.append(best)
        self._row = new
        self._length += 1

    def best(self) -> float:
        """Give the path correctness of the calls so far."""
        row, length = self._row, self._length
        return max(similarity(length, depth, row[node]) for node, depth in self._golden)
