"""A graph unfolded by path length."""

from __future__ import annotations

from collections.abc import Sequence


class UnfoldedGraph:
    """A node is a state and the length of the paths to it; node 0 is the start.

    Attributes:
        depth: of each node, the length of its paths.
        before: of each node but the first its incoming edges `(source, token)`.
        golden: the accepting nodes as `(node, length, state)`.
        size: how many edges it has; it ends where there would be many more than `most`.
    """

    def __init__(
        self, edges: Sequence[Sequence[tuple[int, int]]], accepting: Sequence[bool], longest: int, most: int
    ) -> None:
        self.size = 0
        nodes: dict[tuple[int, int], int] = {(0, 0): 0}
        before: list[list[tuple[int, int]]] = [[]]
        self.depth = [0]
        for state, length in (todo := [(0, 0)]):
            if self.size > most:
                break
            self.size += len(edges[state])
            for token, target in edges[state] if length < longest else ():
                reached = (target, length + 1)
                if reached not in nodes:
                    nodes[reached] = len(before)
                    before.append([])
                    self.depth.append(length + 1)
                    todo.append(reached)
                before[nodes[reached]].append((nodes[state, length], token))
        self.before = tuple(map(tuple, before[1:]))
        self.golden = tuple(
            (node, length, state) for (state, length), node in nodes.items() if accepting[state]
        )
