"""The golden paths of an automaton, compiled for alignment: numbered states, lengths, and a prefix tree.

Tokens are the numbers of symbols; a token below 0 is a harmful call's own, which equals no symbol.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from weakref import WeakKeyDictionary

from core_eval.path.automaton import TaskAutomaton
from core_eval.path.suffixes import NOWHERE, Suffixes, ways_on

SMALL_TREE = 128
"""Prefix trees up to this many nodes are quicker to align with than the graph itself."""

LARGE_TREE = 20_000
"""Where progress edges form a cycle, a larger prefix tree is cut off, and scores become bounds."""

WALK_EDGES = 200_000
"""Upper bounds of a cyclic graph are computed up to this many edges, unfolded by length."""

KEPT_SUFFIX_STATES = 20_000
"""How many states of suffix graphs are kept for the next path."""


@dataclass
class PathTree:
    """Golden paths as a prefix tree; node 0 is the root, and a parent comes before its children.

    Attributes:
        parent, token: of each node the node before it, and the symbol of the edge between them.
        occurrence: how often that symbol came before on the way from the root.
        depth: length of the way from the root.
        state: the automaton's state, by number.
        accepting: whether the way to this node is a golden path.
        complete: False where the tree was cut off.
    """

    parent: list[int] = field(default_factory=lambda: [-1])
    token: list[int] = field(default_factory=lambda: [-1])
    occurrence: list[int] = field(default_factory=lambda: [0])
    depth: list[int] = field(default_factory=lambda: [0])
    state: list[int] = field(default_factory=lambda: [0])
    accepting: list[bool] = field(default_factory=lambda: [False])
    complete: bool = True

    def add(self, parent: int, token: int, state: int, accepting: bool) -> None:
        """Add a node."""
        before, node = 0, parent
        while node:
            before += self.token[node] == token
            node = self.parent[node]
        self.parent.append(parent)
        self.token.append(token)
        self.occurrence.append(before)
        self.depth.append(self.depth[parent] + 1)
        self.state.append(state)
        self.accepting.append(accepting)

    @cached_property
    def leaves(self) -> tuple[tuple[int, int], ...]:
        """The golden paths as `(node, length)`."""
        return tuple((n, self.depth[n]) for n, golden in enumerate(self.accepting) if golden)

    @cached_property
    def steps(self) -> tuple[tuple[int, int, int], ...]:
        """`(parent, token, occurrence)` of every node but the root."""
        return tuple(zip(self.parent[1:], self.token[1:], self.occurrence[1:], strict=True))

    def ways_on(self, state: int) -> Suffixes:
        """Give what follows a state on the golden paths through it; NOWHERE if there are none."""
        children: list[list[int]] = [[] for _ in self.parent]
        for node in range(1, len(self)):
            children[self.parent[node]].append(node)
        groups = [[node for node in range(len(self)) if self.state[node] == state]]
        if not groups[0]:
            return NOWHERE
        edges: list[list[tuple[int, int]]] = []
        for group in groups:
            below: dict[int, list[int]] = {}
            for node in group:
                for child in children[node]:
                    below.setdefault(self.token[child], []).append(child)
            edges.append(list(zip(below, range(len(groups), len(groups) + len(below)), strict=True)))
            groups.extend(below.values())
        accepting = [any(self.accepting[node] for node in group) for group in groups]
        return ways_on(0, edges, accepting)

    def __len__(self) -> int:
        return len(self.parent)


class GoldenGraph:
    """The useful states of an automaton and the progress edges between them, by number.

    State 0 is the start. In an acyclic graph states are numbered in topological order.
    """

    def __init__(self, automaton: TaskAutomaton) -> None:
        self.acyclic = automaton.acyclic
        self.tokens: dict[str, int] = {name: number for number, name in enumerate(automaton.symbols)}
        order = self._order(automaton)
        self.number: dict[str, int] = {state: number for number, state in enumerate(order)}
        self.accepting: list[bool] = [state in automaton.accepting for state in order]
        self.edges: list[tuple[tuple[int, int], ...]] = [
            tuple(
                (self.tokens[symbol], self.number[target])
                for symbol, target in automaton.progress[state]
                if target in self.number
            )
            for state in order
        ]
        self.loops: dict[str, tuple[int, ...]] = {
            state: tuple(self.tokens[symbol] for symbol in names) for state, names in automaton.loops.items()
        }
        self._suffixes: dict[int, Suffixes] = {}

    @staticmethod
    def _order(automaton: TaskAutomaton) -> list[str]:
        useful, progress = automaton.useful, automaton.progress
        if not automaton.acyclic:
            return [automaton.start, *(s for s in automaton.states if s in useful and s != automaton.start)]
        before = dict.fromkeys((state for state in automaton.states if state in useful), 0)
        for state in before:
            for _, target in progress[state]:
                if target in useful:
                    before[target] += 1
        order = [automaton.start]
        for state in order:
            for _, target in progress[state]:
                if target in useful:
                    before[target] -= 1
                    if before[target] == 0:
                        order.append(target)
        return order

    @cached_property
    def suffix_lengths(self) -> list[int]:
        """For every state of an acyclic graph the set of lengths of ways to an accepting state, as bits."""
        lengths = [0] * len(self.edges)
        for state in range(len(self.edges) - 1, -1, -1):
            bits = int(self.accepting[state])
            for _, target in self.edges[state]:
                bits |= lengths[target] << 1
            lengths[state] = bits
        return lengths

    @cached_property
    def lengths(self) -> int:
        """The lengths of the golden paths, as bits; those of the tree where progress edges form a cycle."""
        if self.acyclic:
            return self.suffix_lengths[0]
        assert self.tree is not None
        bits = 0
        for _, depth in self.tree.leaves:
            bits |= 1 << depth
        return bits

    @cached_property
    def walk_lengths(self) -> int:
        """The lengths of all accepting walks no longer than a simple path can be, as bits."""
        bits, here = 0, {0}
        for length in range(len(self.edges)):
            if any(self.accepting[state] for state in here):
                bits |= 1 << length
            here = {target for state in here for _, target in self.edges[state]}
        return bits

    @property
    def walks_are_few(self) -> bool:
        """True where the walks of a cyclic graph can be aligned with at a bounded cost."""
        return len(self.edges) * sum(map(len, self.edges)) <= WALK_EDGES

    def walks(self, state: str) -> Suffixes:
        """Give all accepting walks on from a state, no longer than a simple path can be."""
        nodes = {(self.number[state], 0): 0} if state in self.number else {}
        if not nodes:
            return NOWHERE
        edges: list[list[tuple[int, int]]] = []
        todo = list(nodes)
        for source, length in todo:
            out = []
            if length < len(self.edges) - 1:
                for token, target in self.edges[source]:
                    key = (target, length + 1)
                    if key not in nodes:
                        nodes[key] = len(nodes)
                        todo.append(key)
                    out.append((token, nodes[key]))
            edges.append(out)
        return ways_on(0, edges, [self.accepting[source] for source, _ in todo])

    def suffixes(self, state: str) -> Suffixes | None:
        """Give the golden ways on from a state; None where no golden path is known to pass through it."""
        number = self.number.get(state)
        if number is None:
            return None
        found = self._suffixes.get(number)
        if found is None:
            if self.acyclic:
                found = ways_on(number, self.edges, self.accepting)
            else:
                assert self.tree is not None
                found = self.tree.ways_on(number)
            if sum(len(kept.edges) for kept in self._suffixes.values()) > KEPT_SUFFIX_STATES:
                self._suffixes.clear()
            self._suffixes[number] = found
        return None if found is NOWHERE else found

    @cached_property
    def tree(self) -> PathTree | None:
        """The prefix tree of the golden paths; None where the graph is acyclic and the tree not small."""
        if not self.acyclic:
            return _grow_simple(self, LARGE_TREE)
        ways = [0] * len(self.edges)
        ways[0] = 1
        for state, edges in enumerate(self.edges):
            for _, target in edges:
                ways[target] += ways[state]
        return _grow_simple(self, SMALL_TREE) if sum(ways) <= SMALL_TREE else None


def _grow_simple(graph: GoldenGraph, limit: int) -> PathTree:
    """Grow the tree of loop-free ways from the start, shortest first, then drop what accepts nothing."""
    tree = PathTree(accepting=[graph.accepting[0]])
    visited = [1]
    node = 0
    while node < len(tree):
        for token, target in graph.edges[tree.state[node]]:
            if visited[node] >> target & 1:
                continue
            if len(tree) >= limit:
                tree.complete = False
                break
            tree.add(node, token, target, graph.accepting[target])
            visited.append(visited[node] | 1 << target)
        node += 1
    if not any(tree.accepting):
        _add_shortest(graph, tree)
    return _pruned(tree)


def _add_shortest(graph: GoldenGraph, tree: PathTree) -> None:
    """Add a shortest golden path to a tree that was cut off before it reached any."""
    came_from: dict[int, tuple[int, int]] = {}
    todo = [0]
    for state in todo:
        for token, target in graph.edges[state]:
            if target and target not in came_from:
                came_from[target] = (token, state)
                todo.append(target)
    state = next(state for state in todo if graph.accepting[state])
    way = []
    while state:
        token, source = came_from[state]
        way.append((token, state))
        state = source
    node = 0
    for token, state in reversed(way):
        tree.add(node, token, state, graph.accepting[state])
        node = len(tree) - 1


def _pruned(tree: PathTree) -> PathTree:
    """Drop the nodes below which there is no golden path."""
    keep = list(tree.accepting)
    for node in range(len(tree) - 1, 0, -1):
        if keep[node]:
            keep[tree.parent[node]] = True
    keep[0] = True
    place = {old: new for new, old in enumerate(node for node, kept in enumerate(keep) if kept)}
    return PathTree(
        parent=[-1] + [place[tree.parent[old]] for old in place if old],
        token=[tree.token[old] for old in place],
        occurrence=[tree.occurrence[old] for old in place],
        depth=[tree.depth[old] for old in place],
        state=[tree.state[old] for old in place],
        accepting=[tree.accepting[old] for old in place],
        complete=tree.complete,
    )


_compiled: WeakKeyDictionary[TaskAutomaton, GoldenGraph] = WeakKeyDictionary()


def golden_graph(automaton: TaskAutomaton) -> GoldenGraph:
    """Give the compiled golden paths of an automaton; they are made once."""
    graph = _compiled.get(automaton)
    if graph is None:
        graph = _compiled[automaton] = GoldenGraph(automaton)
    return graph
