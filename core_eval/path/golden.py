"""The golden paths of an automaton, compiled for alignment: numbered states, lengths, and a prefix tree.

Tokens are symbol numbers; a negative token is unique to a harmful call and equals no symbol.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property

from core_eval.path.automaton import TaskAutomaton, once_each
from core_eval.path.prefix_tree import PrefixTree, grow_tree
from core_eval.path.suffix_graph import NO_SUFFIXES, SuffixGraph, suffix_graph
from core_eval.path.unfolded_graph import UnfoldedGraph

SMALL_TREE = 128
NODES_PER_STATE = 4
"""Up to this many nodes, in total or per state, a prefix tree is faster to align with than the graph."""

LARGE_TREE = 20_000
"""Maximum nodes of a cyclic graph's prefix tree; a larger one is truncated, and scores become bounds."""

WALK_EDGES = 200_000
"""Upper bounds of a cyclic graph are computed up to this many edges, unfolded by length."""

UNFOLDED_EDGES = 2_000_000
"""Maximum edges of an acyclic graph unfolded by length; where there are more, PC and PC-KTC are bounds."""

KEPT_SUFFIX_STATES = 20_000
"""Maximum states of cached suffix graphs."""


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
        self._loops: dict[str, tuple[int, ...]] = {
            state: tuple(self.tokens[symbol] for symbol in names) for state, names in automaton.loops.items()
        }
        self._parts = frozenset(self.tokens[one.name] for one in automaton.symbols.values() if one.is_part)
        self._suffixes: dict[int, SuffixGraph] = {}

    def legal(self, state: str) -> tuple[int, ...]:
        """Return the self-loops of a state."""
        return self._loops[state]

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

    def _lengths(self, without: frozenset[int]) -> int:
        """Return the lengths of an acyclic graph's golden paths that have none of these tokens, as bits.

        On the way each state holds the lengths to it as the least one and the differences to that, as bits,
        only until its successors have them: those of a long chain together would fill the memory.
        """
        found, reached = 0, {0: (0, 1)}
        for state, edges in enumerate(self.edges):
            if state not in reached:
                continue
            least, bits = reached.pop(state)
            if self.accepting[state]:
                found |= bits << least
            for token, target in edges:
                if token not in without:
                    other, others = reached.get(target, (least + 1, 0))
                    low = min(other, least + 1)
                    reached[target] = low, bits << least + 1 - low | others << other - low
        return found

    @cached_property
    def to_go(self) -> list[int]:
        """The number of steps from each state to the nearest accepting one."""
        before: list[list[int]] = [[] for _ in self.edges]
        for state, edges in enumerate(self.edges):
            for _, target in edges:
                before[target].append(state)
        found = {state: 0 for state, accepting in enumerate(self.accepting) if accepting}
        for state in (todo := list(found)):
            for source in before[state]:
                if source not in found:
                    found[source] = found[state] + 1
                    todo.append(source)
        return [found[state] for state in range(len(self.edges))]

    @cached_property
    def whole_lengths(self) -> int:
        """The lengths of the golden paths that make no step in parts, as bits: what efficiency counts by."""
        if not self._parts or not self.acyclic:
            return self.lengths
        return self._lengths(self._parts)

    @cached_property
    def lengths(self) -> int:
        """The lengths of the golden paths, as bits; those of the tree where progress edges form a cycle."""
        if self.acyclic:
            return self._lengths(frozenset())
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

    @cached_property
    def unfolded(self) -> UnfoldedGraph:
        """The useful states by path length; in a cyclic graph, walks up to the length of simple paths."""
        return UnfoldedGraph(self.edges, self.accepting, len(self.edges) - 1, UNFOLDED_EDGES)

    @property
    def walks_are_few(self) -> bool:
        """Whether the walks of a cyclic graph can be aligned with at a bounded cost."""
        return len(self.edges) * sum(map(len, self.edges)) <= WALK_EDGES

    def walks(self, state: str) -> SuffixGraph:
        """Return all accepting walks from a state, up to the length of a simple path."""
        nodes = {(self.number[state], 0): 0} if state in self.number else {}
        if not nodes:
            return NO_SUFFIXES
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
        return suffix_graph(0, edges, [self.accepting[source] for source, _ in todo])

    def suffixes(self, state: str) -> SuffixGraph | None:
        """Return the golden suffixes of a state; None if no known golden path passes through it."""
        number = self.number.get(state)
        if number is None:
            return None
        found = self._suffixes.get(number)
        if found is None:
            if self.acyclic:
                found = suffix_graph(number, self.edges, self.accepting)
            else:
                assert self.tree is not None
                found = self.tree.suffix_graph(number)
            if sum(len(kept.edges) for kept in self._suffixes.values()) > KEPT_SUFFIX_STATES:
                self._suffixes.clear()
            self._suffixes[number] = found
        return None if found is NO_SUFFIXES else found

    @cached_property
    def tree(self) -> PrefixTree | None:
        """The prefix tree of the golden paths; None where the graph is acyclic and the tree not small."""
        if not self.acyclic:
            return grow_tree(self.edges, self.accepting, LARGE_TREE, acyclic=False)
        limit = max(SMALL_TREE, NODES_PER_STATE * len(self.edges))
        nodes = 0
        paths = [0] * len(self.edges)
        paths[0] = 1
        for state, edges in enumerate(self.edges):
            nodes += paths[state]
            if nodes > limit:
                return None
            for _, target in edges:
                paths[target] += paths[state]
        return grow_tree(self.edges, self.accepting, limit, acyclic=True)

    @cached_property
    def most(self) -> dict[int, int]:
        """An upper bound on how often each token occurs on a golden path of an acyclic graph."""
        longest = self.lengths.bit_length() - 1
        edges = Counter(token for out in self.edges for token, _ in out)
        return {token: min(count, longest) for token, count in edges.items()}


@once_each
def golden_graph(automaton: TaskAutomaton) -> GoldenGraph:
    """Return the compiled golden paths of an automaton; they are cached."""
    return GoldenGraph(automaton)
