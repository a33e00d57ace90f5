"""Golden paths as a prefix tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from core_eval.path.suffix_graph import NO_SUFFIXES, SuffixGraph, suffix_graph


@dataclass
class PrefixTree:
    """Golden paths as a prefix tree; node 0 is the root, and a parent comes before its children.

    Attributes:
        parent, token: of each node the node before it, and the symbol of the edge between them.
        depth: length of the path from the root.
        state: the automaton's state, by number.
        accepting: whether the path to this node is a golden path.
        complete: False if the tree was truncated.
    """

    parent: list[int] = field(default_factory=lambda: [-1])
    token: list[int] = field(default_factory=lambda: [-1])
    depth: list[int] = field(default_factory=lambda: [0])
    state: list[int] = field(default_factory=lambda: [0])
    accepting: list[bool] = field(default_factory=lambda: [False])
    complete: bool = True

    def add(self, parent: int, token: int, state: int, accepting: bool) -> None:
        """Add a node."""
        self.parent.append(parent)
        self.token.append(token)
        self.depth.append(self.depth[parent] + 1)
        self.state.append(state)
        self.accepting.append(accepting)

    @cached_property
    def leaves(self) -> tuple[tuple[int, int], ...]:
        """The golden paths as `(node, length)`."""
        return tuple((n, self.depth[n]) for n, golden in enumerate(self.accepting) if golden)

    @cached_property
    def steps(self) -> tuple[tuple[int, int, int], ...]:
        """`(parent, token, occurrence)` of every node but the root.

        `occurrence` counts earlier occurrences of that symbol on the path from the root.
        """
        occurrence = [0] * len(self)
        before: dict[int, int] = {}
        # Depth-first traversal: `before` counts the symbols on the path to a node.
        todo = [step for node in self._children[0] for step in (~node, node)]
        while todo:
            node = todo.pop()
            if node < 0:
                before[self.token[~node]] -= 1
                continue
            token = self.token[node]
            occurrence[node] = before.get(token, 0)
            before[token] = occurrence[node] + 1
            for child in self._children[node]:
                todo += (~child, child)
        return tuple(zip(self.parent[1:], self.token[1:], occurrence[1:], strict=True))

    @cached_property
    def most(self) -> dict[int, int]:
        """The maximum number of occurrences of each symbol on a path."""
        counts: dict[int, int] = {}
        for _, token, before in self.steps:
            counts[token] = max(counts.get(token, 0), before + 1)
        return counts

    @cached_property
    def _children(self) -> list[list[int]]:
        children: list[list[int]] = [[] for _ in self.parent]
        for node in range(1, len(self)):
            children[self.parent[node]].append(node)
        return children

    def suffix_graph(self, state: int) -> SuffixGraph:
        """Return the suffixes of the golden paths through a state; NO_SUFFIXES if there are none."""
        children = self._children
        groups = [[node for node in range(len(self)) if self.state[node] == state]]
        if not groups[0]:
            return NO_SUFFIXES
        edges: list[list[tuple[int, int]]] = []
        for group in groups:
            below: dict[int, list[int]] = {}
            for node in group:
                for child in children[node]:
                    below.setdefault(self.token[child], []).append(child)
            edges.append(list(zip(below, range(len(groups), len(groups) + len(below)), strict=True)))
            groups.extend(below.values())
        accepting = [any(self.accepting[node] for node in group) for group in groups]
        return suffix_graph(0, edges, accepting)

    def __len__(self) -> int:
        return len(self.parent)


def grow_tree(
    edges: Sequence[Sequence[tuple[int, int]]], accepting: Sequence[bool], limit: int, *, acyclic: bool
) -> PrefixTree:
    """Build the tree of simple paths from the start, shortest first, then prune dead branches."""
    tree = PrefixTree(accepting=[accepting[0]])
    # In a cyclic graph the visited states of each path are tracked.
    visited = [1]
    node = 0
    while node < len(tree):
        for token, target in edges[tree.state[node]]:
            if not acyclic and visited[node] >> target & 1:
                continue
            if len(tree) >= limit:
                tree.complete = False
                break
            tree.add(node, token, target, accepting[target])
            if not acyclic:
                visited.append(visited[node] | 1 << target)
        node += 1
    if not any(tree.accepting):
        _add_shortest(edges, accepting, tree)
    return _pruned(tree)


def _add_shortest(
    edges: Sequence[Sequence[tuple[int, int]]], accepting: Sequence[bool], tree: PrefixTree
) -> None:
    """Add a shortest golden path to a tree that was truncated before it reached any."""
    came_from: dict[int, tuple[int, int]] = {}
    todo = [0]
    for state in todo:
        for token, target in edges[state]:
            if target and target not in came_from:
                came_from[target] = (token, state)
                todo.append(target)
    state = next(state for state in todo if accepting[state])
    path = []
    while state:
        token, source = came_from[state]
        path.append((token, state))
        state = source
    node = 0
    for token, state in reversed(path):
        tree.add(node, token, state, accepting[state])
        node = len(tree) - 1


def _pruned(tree: PrefixTree) -> PrefixTree:
    """Drop the nodes below which there is no golden path."""
    keep = list(tree.accepting)
    for node in range(len(tree) - 1, 0, -1):
        if keep[node]:
            keep[tree.parent[node]] = True
    keep[0] = True
    place = {old: new for new, old in enumerate(node for node, kept in enumerate(keep) if kept)}
    return PrefixTree(
        parent=[-1] + [place[tree.parent[old]] for old in place if old],
        token=[tree.token[old] for old in place],
        depth=[tree.depth[old] for old in place],
        state=[tree.state[old] for old in place],
        accepting=[tree.accepting[old] for old in place],
        complete=tree.complete,
    )
