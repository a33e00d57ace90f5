"""A layered layout of a small directed graph, in pure Python (Sugiyama's method: layers, then order, then
places).

Long edges pass through bends in the layers between; edges that close a cycle run backwards below the graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from core_eval.call_status import CallStatus
from core_eval.path.automaton import TaskAutomaton, once_each
from core_eval.path.calls import Call, StepKind
from core_eval.path.scorer import OnlineScorer

Edge = tuple[str, str]
MOST_EDGES = 150
"""Of an automaton that is drawn whole: more cannot be told apart on a page."""
_SWEEPS = 6
_BEND = 26.0
"""Room of a bend of an edge beside the nodes of its layer."""


@dataclass(frozen=True)
class GraphLayout:
    """Places: the layer, and the distance along it.

    Attributes:
        places: the centre of each node.
        routes: of each edge the points it passes, without its ends; none for a straight or a backward one.
        backward: the edges that close a cycle.
    """

    places: Mapping[str, tuple[int, float]]
    routes: Mapping[Edge, tuple[tuple[int, float], ...]]
    backward: frozenset[Edge]


def arrange(nodes: tuple[str, ...], edges: tuple[Edge, ...], room: float) -> GraphLayout:
    """Lay out a graph in layers; the first node stands in the first one.

    Each node takes so much room along its layer. Edges from a node to itself are not given.
    """
    backward = _backward(nodes, edges)
    forward = [edge for edge in edges if edge not in backward]
    layer = _layers(nodes, forward)
    rows: list[list[object]] = [[] for _ in range(max(layer.values()) + 1)]
    for node in nodes:
        rows[layer[node]].append(node)
    links: list[tuple[object, object]] = []
    bends: dict[Edge, list[tuple[Edge, int]]] = {}
    for edge in forward:
        source, target = edge
        bends[edge] = [(edge, between) for between in range(layer[source] + 1, layer[target])]
        for bend in bends[edge]:
            rows[bend[1]].append(bend)
        stops: list[object] = [source, *bends[edge], target]
        links += pairwise(stops)
    _order(rows, links)
    wide = {item: room if isinstance(item, str) else _BEND for row in rows for item in row}
    total = max(sum(wide[item] for item in row) for row in rows)
    where: dict[object, tuple[int, float]] = {}
    for number, row in enumerate(rows):
        place = (room + total - sum(wide[item] for item in row)) / 2
        for item in row:
            where[item] = (number, place + wide[item] / 2)
            place += wide[item]
    return GraphLayout(
        places={node: where[node] for node in nodes},
        routes={edge: tuple(where[bend] for bend in passed) for edge, passed in bends.items()},
        backward=frozenset(backward),
    )


def _backward(nodes: Sequence[str], edges: Sequence[Edge]) -> set[Edge]:
    """Return the back edges of a depth-first search."""
    after: dict[str, list[str]] = {node: [] for node in nodes}
    for source, target in edges:
        after[source].append(target)
    done: set[str] = set()
    found: set[Edge] = set()
    for root in nodes:
        if root in done:
            continue
        open_nodes = {root}
        stack = [(root, iter(after[root]))]
        while stack:
            node, targets = stack[-1]
            below = next(targets, None)
            if below is None:
                stack.pop()
                open_nodes.discard(node)
                done.add(node)
            elif below in open_nodes:
                found.add((node, below))
            elif below not in done:
                open_nodes.add(below)
                stack.append((below, iter(after[below])))
    return found


def _layers(nodes: Sequence[str], edges: Sequence[Edge]) -> dict[str, int]:
    """Return the length of the longest path to each node; 0 for a node without incoming edges."""
    layer = dict.fromkeys(nodes, 0)
    waiting = dict.fromkeys(nodes, 0)
    after: dict[str, list[str]] = {node: [] for node in nodes}
    for source, target in edges:
        waiting[target] += 1
        after[source].append(target)
    todo = [node for node in nodes if waiting[node] == 0]
    for node in todo:
        for target in after[node]:
            layer[target] = max(layer[target], layer[node] + 1)
            waiting[target] -= 1
            if waiting[target] == 0:
                todo.append(target)
    return layer


def _order(rows: list[list[object]], links: Sequence[tuple[object, object]]) -> None:
    """Sort each layer by the barycentre of its neighbours, forwards and backwards, to reduce crossings."""
    before: dict[object, list[object]] = {}
    after: dict[object, list[object]] = {}
    for source, target in links:
        after.setdefault(source, []).append(target)
        before.setdefault(target, []).append(source)
    share: dict[object, float] = {}
    for row in rows:
        share |= _shares(row)
    for sweep in range(_SWEEPS):
        neighbours = after if sweep % 2 else before
        for row in reversed(rows) if sweep % 2 else rows:
            middle = {}
            for item in row:
                linked = neighbours.get(item) or [item]
                middle[item] = sum(share[other] for other in linked) / len(linked)
            row.sort(key=middle.__getitem__)
            share |= _shares(row)


def _shares(row: Sequence[object]) -> dict[object, float]:
    """Return how far along its layer each item stands, 0 to 1."""
    return {item: (place + 0.5) / len(row) for place, item in enumerate(row)}


@dataclass
class TracePath:
    """Call numbers (from 0) of a trace by state: progress, self-loops and harmful attempts.

    `visited` holds the states on the path, `end` the last of them.
    """

    progress: dict[Edge, list[int]] = field(default_factory=dict)
    loops: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    harmful: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    visited: set[str] = field(default_factory=set)
    end: str = ""

    @classmethod
    def of(cls, automaton: TaskAutomaton, calls: Iterable[Call]) -> TracePath:
        """Follow a trace through the automaton."""
        path = cls(visited={automaton.start}, end=automaton.start)
        scorer = OnlineScorer(automaton)
        for number, call in enumerate(calls):
            verdict = scorer.peek(call)
            state = verdict.state_before
            if verdict.kind == StepKind.PROGRESS:
                scorer.state = path.end = verdict.state_after
                path.progress.setdefault((state, path.end), []).append(number)
                path.visited.add(path.end)
            elif verdict.kind == StepKind.LOOP:
                path.loops.setdefault(state, []).append((number, verdict.symbol or call.name))
            elif verdict.kind == StepKind.HARMFUL:
                why = "" if call.status == CallStatus.OK else f" [{call.status}]"
                path.harmful.setdefault(state, []).append((number, (verdict.symbol or _written(call)) + why))
        return path

    @property
    def begun(self) -> bool:
        """Whether the trace has any call."""
        return bool(self.progress or self.loops or self.harmful)


def _written(call: Call) -> str:
    """Format a call that matches no symbol, with its arguments."""
    if not call.arguments:
        return call.name or "(no call)"
    return f"{call.name}({', '.join(f'{name}={value}' for name, value in call.arguments.items())})"


def drawable(automaton: TaskAutomaton, path: TracePath) -> TaskAutomaton:
    """Return an automaton that can be drawn: itself, or of a large one the part that a path takes.

    That is the states that it visits, and from its end a shortest way to an accepting state. A plan of stages
    is large: its states are made as they are asked for.
    """
    if automaton.stages is None and len(edges_of(automaton)) <= MOST_EDGES:
        return automaton
    ways = dict.fromkeys([*path.progress, *pairwise(_way_on(automaton, path.end))])
    states = dict.fromkeys([automaton.start, *(state for way in ways for state in way)])
    delta = {
        (source, symbol): after
        for source, target in ways
        for symbol, after in automaton.progress[source]
        if after == target
    }
    delta |= {(state, symbol): state for state in states for symbol in automaton.loops[state]}
    return TaskAutomaton(
        states=list(states),
        symbols=list(automaton.symbols.values()),
        start=automaton.start,
        accepting=automaton.accepting & states.keys(),
        delta=delta,
        reading=automaton.reading,
    )


def _way_on(automaton: TaskAutomaton, state: str) -> list[str]:
    """Return the states of a way to an accepting one, a shortest where that can be searched for.

    It begins at the start where none leads on from `state`.
    """
    if automaton.stages is not None:
        way = [state]
        while way[-1] not in automaton.accepting and (edges := automaton.progress[way[-1]]):
            way.append(edges[0][1])
        return way
    first = state if state in automaton.useful else automaton.start
    ways = {first: [first]}
    for at, way in (todo := list(ways.items())):
        if at in automaton.accepting:
            return way
        for _, after in automaton.progress[at]:
            if after not in ways:
                ways[after] = [*way, after]
                todo.append((after, ways[after]))
    return [first]


@once_each
def edges_of(automaton: TaskAutomaton) -> dict[Edge, list[str]]:
    """Return the progress edges; symbols between the same two states are grouped."""
    edges: dict[Edge, list[str]] = {}
    for source, out in automaton.progress.items():
        for symbol, target in out:
            edges.setdefault((source, target), []).append(symbol)
    return edges
