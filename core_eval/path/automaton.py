"""A task as a deterministic automaton over symbols (CORE, section 3: `(Q, A, delta, q0, F)`)."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property, wraps
from itertools import chain
from types import MappingProxyType
from typing import Any, Protocol, TypeVar
from weakref import WeakKeyDictionary

from core_eval.path.calls import Call, StepVerdict
from core_eval.path.stages import Stages
from core_eval.path.symbols import Symbol, most_specific_first, ties
from core_eval.text.foreign_json import parse_json

READINGS = (1, 2)
"""The readings of what is harmful. 1: whatever is undefined or refused. 2: not what only reads, nor a write
that changes nothing."""
SHOWN_STATES = 8
"""A warning names at most this many states."""


class AutomatonError(ValueError):
    """A task's automaton breaks a standing assumption.

    Attributes:
        faults: one line each, naming file, task, state and symbol as far as they are known.
    """

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = tuple(faults)


class Graph(Protocol):
    """States and edges, which may be computed when they are asked for."""

    @property
    def states(self) -> Sequence[str]:
        """All states, the start first."""

    @property
    def accepting(self) -> Set[str]:
        """The accepting states."""

    @property
    def delta(self) -> Mapping[tuple[str, str], str]:
        """All edges, self-loops too."""


class TaskAutomaton:
    """The states, symbols and partial transition function of a task, checked on construction.

    A call in state `q` with symbol `a` is progress where `delta(q, a)` is another state, a self-loop
    where it is `q`, and harmful where it is undefined. `where` (such as `tasks.json: task 7`) begins
    every fault and warning. Raises AutomatonError when an edge names an undeclared state or symbol, or
    when no accepting state can be reached. A cycle of progress edges is a warning: golden paths are then
    the simple ones.

    Args:
        reading: the reading of what is harmful: of READINGS.
        also_free: calls that are self-loops wherever they are no progress, executed or refused, beside the
            reads among the symbols (those of any arguments): what the prompt itself asks to try.
        stages: a plan of stages in place of states and edges, which are then computed when asked for.
        plan: another plan in their place, acyclic and without states that cannot be reached.

    Attributes:
        asks_facts: whether a symbol asks for a fact, so that an answer decides on the call's verdict.
        cycle_warning: the warning about a cycle; None if there is no cycle.
        reading: by default of its scores.
        verdicts: those on calls that have an edge, by state and symbol, as far as they were asked for.
    """

    def __init__(
        self,
        *,
        symbols: Sequence[Symbol],
        states: Sequence[str] = (),
        start: str = "",
        accepting: Sequence[str] | Set[str] = (),
        delta: Mapping[tuple[str, str], str] = MappingProxyType({}),
        warnings: Sequence[str] = (),
        where: str = "automaton",
        reading: int = 1,
        also_free: Sequence[Symbol] = (),
        stages: Stages | None = None,
        plan: Graph | None = None,
    ) -> None:
        if reading not in READINGS:
            raise AutomatonError([f"{where}: the reading must be one of {READINGS}, not {reading!r}"])
        self.verdicts: dict[tuple[str, str], StepVerdict] = {}
        self.stages = stages
        self._plan = plan
        if plan is None:
            self.states = tuple(states) if stages is None else stages.states
        self.reading = reading
        self.also_free = tuple(also_free)
        self._free_tools = frozenset(symbol.tool for symbol in symbols if symbol.is_free_read)
        self.symbols: Mapping[str, Symbol] = MappingProxyType({symbol.name: symbol for symbol in symbols})
        if plan is None:
            self.start = start if stages is None else stages.start
            self.accepting = frozenset(accepting) if stages is None else stages.accepting
            self.delta = MappingProxyType(dict(delta)) if stages is None else stages.delta
        faults = self._faults(symbols)
        computed = stages is not None or plan is not None
        if not faults and not computed and not self._reachable & self.accepting:
            faults = [
                f"state {start!r}: no accepting state can be reached from the start over progress edges, "
                "so there is no golden path; mark a reachable state as final"
            ]
        if faults:
            raise AutomatonError([f"{where}: {fault}" for fault in faults])
        self.asks_facts = any(symbol.fact is not None for symbol in self.symbols.values())
        cycle = [] if computed else self._states_on_cycles(self.states)
        self.cycle_warning: str | None = None
        if cycle:
            through = f"progress edges form a cycle through {_few(cycle)}"
            self.cycle_warning = f"{where}: {through}; golden paths are the simple ones"
        self._told = (*warnings, *(() if self.cycle_warning is None else (self.cycle_warning,)))
        self._where = where

    @cached_property
    def _by_tool(self) -> Mapping[str, Sequence[Symbol]]:
        return most_specific_first(self.symbols.values())

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """One line each; who only lists tasks asks for none."""
        return (*self._told, *(f"{self._where}: {text}" for text in self._warnings()))

    @property
    def _graph(self) -> Graph:
        assert self._plan is not None, "else states and edges were given"
        return self._plan

    @cached_property
    def states(self) -> Sequence[str]:
        """The states, in the order in which they were declared."""
        return self._graph.states

    @cached_property
    def start(self) -> str:
        """The state before the first call."""
        return self._graph.states[0]

    @cached_property
    def accepting(self) -> Set[str]:
        """The states in which the task is done."""
        return self._graph.accepting

    @cached_property
    def delta(self) -> Mapping[tuple[str, str], str]:
        """The target of each edge `(state, symbol)`."""
        return self._graph.delta

    def _faults(self, symbols: Sequence[Symbol]) -> list[str]:
        faults = []
        if len(self.symbols) < len(symbols):
            faults.append("a symbol is declared twice")
        if self._plan is not None:
            return faults
        if self.stages is not None:
            named = {name for stage in (*self.stages.stages, self.stages.free) for name in stage}
            return faults + [
                f"symbol {name!r} is not in the alphabet" for name in sorted(named - self.symbols.keys())
            ]
        declared = set(self.states)
        if len(declared) < len(self.states):
            faults.append("a state is declared twice")
        if self.start not in declared:
            faults.append(f"start state {self.start!r} is not declared")
        faults += [f"accepting state {s!r} is not declared" for s in sorted(self.accepting - declared)]
        ends = {source for source, _ in self.delta}.union(self.delta.values())
        if declared >= ends and self.symbols.keys() >= {symbol for _, symbol in self.delta}:
            return faults
        for (source, symbol), target in self.delta.items():
            if symbol not in self.symbols:
                faults.append(f"state {source!r}: symbol {symbol!r} is not in the alphabet")
            for state in (source, target):
                if state not in declared:
                    faults.append(f"state {source!r}, symbol {symbol!r}: state {state!r} is not declared")
        return faults

    def _warnings(self) -> Iterator[str]:
        if self.stages is None and self._plan is None:
            unreachable = [state for state in self.states if state not in self._reachable]
            if unreachable:
                yield f"states {_few(unreachable)} cannot be reached from the start"
        for first, second in chain.from_iterable(map(ties, self._by_tool.values())):
            yield (
                f"symbols {first.name!r} and {second.name!r} can match the same call of {first.tool!r} "
                f"equally well; {first.name!r} wins, being first"
            )

    @cached_property
    def progress(self) -> Mapping[str, tuple[tuple[str, str], ...]]:
        """For every state its progress edges `(symbol, target)`, in the order they were declared."""
        if self.stages is not None:
            return self.stages.progress
        edges: dict[str, list[tuple[str, str]]] = {state: [] for state in self.states}
        for (source, symbol), target in self.delta.items():
            if source != target and source in edges:
                edges[source].append((symbol, target))
        return MappingProxyType({state: tuple(out) for state, out in edges.items()})

    @cached_property
    def loops(self) -> Mapping[str, tuple[str, ...]]:
        """For every state the symbols that are self-loops there."""
        if self.stages is not None:
            return self.stages.loops
        found: dict[str, list[str]] = {state: [] for state in self.states}
        for (source, symbol), target in self.delta.items():
            if source == target:
                found[source].append(symbol)
        return MappingProxyType({state: tuple(names) for state, names in found.items()})

    @cached_property
    def _reachable(self) -> set[str]:
        seen, todo = {self.start}, [self.start]
        while todo:
            for _, target in self.progress[todo.pop()]:
                if target not in seen:
                    seen.add(target)
                    todo.append(target)
        return seen

    @cached_property
    def useful(self) -> frozenset[str]:
        """The states on a path from the start to an accepting state, over progress edges."""
        if self.stages is not None:
            return frozenset(self.states)
        before: dict[str, list[str]] = {state: [] for state in self.states}
        for source, edges in self.progress.items():
            for _, target in edges:
                before[target].append(source)
        seen, todo = set(self.accepting), list(self.accepting)
        while todo:
            for source in before[todo.pop()]:
                if source not in seen:
                    seen.add(source)
                    todo.append(source)
        return frozenset(seen & self._reachable)

    def _states_on_cycles(self, within: Iterable[str]) -> list[str]:
        """Return what remains after removing states without incoming, then without outgoing edges."""
        left = set(within)
        for forwards in (True, False):
            degree = dict.fromkeys(left, 0)
            into: dict[str, list[str]] = {state: [] for state in left}
            for source in left:
                for _, target in self.progress[source]:
                    if target in left:
                        tail, head = (source, target) if forwards else (target, source)
                        into[tail].append(head)
                        degree[head] += 1
            todo = [state for state, count in degree.items() if count == 0]
            while todo:
                state = todo.pop()
                left.discard(state)
                for head in into[state]:
                    degree[head] -= 1
                    if degree[head] == 0:
                        todo.append(head)
        return [state for state in self.states if state in left]

    @cached_property
    def acyclic(self) -> bool:
        """True where the useful progress edges form no cycle."""
        return self.cycle_warning is None or not self._states_on_cycles(self.useful)

    def symbol_of(self, call: Call, state: str | None = None) -> str | None:
        """Return the symbol of a call that succeeded, or None where it matches none.

        Symbols that ask for a fact match only in a state that has an edge for them; without `state` in none.
        One that is a self-loop there gives way to one that is progress.
        """
        loop = None
        for symbol in self._by_tool.get(call.name, ()):
            if not symbol.fits(call.arguments):
                continue
            if symbol.fact is None and loop is None:
                return symbol.name
            target = None if state is None else self.delta.get((state, symbol.name))
            if symbol.fact is None:
                return loop if target in (None, state) else symbol.name
            if target is not None and symbol.is_told(call):
                if target != state:
                    return symbol.name
                loop = loop or symbol.name
        return loop

    def is_free(self, call: Call) -> bool:
        """Return whether a call is a self-loop wherever it is no progress, executed or refused."""
        if self.reading == 1:
            return False
        return call.reads or call.name in self._free_tools or any(one.matches(call) for one in self.also_free)

    def for_reading(self, reading: int | None) -> TaskAutomaton:
        """Return the automaton under another reading; itself where it is the same, or None.

        Raises:
            ValueError: there is no such reading.
        """
        if reading is None or reading == self.reading:
            return self
        if reading not in READINGS:
            raise ValueError(f"reading must be one of {', '.join(map(str, READINGS))}, not {reading!r}")
        other = copy.copy(self)
        other.reading = reading
        return self._readings.setdefault(reading, other)

    @cached_property
    def _readings(self) -> dict[int, TaskAutomaton]:
        return {}

    def with_free(self, symbols: Iterable[Symbol]) -> TaskAutomaton:
        """Return the automaton with these calls as free ones too."""
        other = copy.copy(self)
        other.also_free = (*self.also_free, *symbols)
        return other

    def golden_paths(self, limit: int | None = None) -> Iterator[tuple[str, ...]]:
        """Yield the golden paths as symbol names, depth first in edge order; prefixes come first.

        Those that make a step in parts are left out.
        """
        path: list[str] = []
        useful = None if self.stages is not None else self.useful
        on_path = {self.start}
        given = 0
        stack: list[Iterator[tuple[str, str]]] = [iter(self.progress[self.start])]
        trail = [self.start]
        if self.start in self.accepting and limit != 0:
            given += 1
            yield ()
        while stack and (limit is None or given < limit):
            edge = next(
                (
                    (symbol, target)
                    for symbol, target in stack[-1]
                    if (useful is None or target in useful)
                    and target not in on_path
                    and not self.symbols[symbol].is_part
                ),
                None,
            )
            if edge is None:
                stack.pop()
                on_path.discard(trail.pop())
                if path:
                    path.pop()
                continue
            symbol, target = edge
            path.append(symbol)
            trail.append(target)
            on_path.add(target)
            stack.append(iter(self.progress[target]))
            if target in self.accepting:
                given += 1
                yield tuple(path)

    def to_json(self) -> str:
        """Write the automaton as JSON text from which `from_json` makes an equal one."""
        symbols = [symbol.plain() for symbol in self.symbols.values()]
        written: dict[str, Any]
        if self.stages is not None:
            written = {"stages": self.stages.stages, "free": self.stages.free, "symbols": symbols}
            if self.stages.optional:
                written["optional"] = True
        else:
            written = {
                "states": self.states,
                "start": self.start,
                "accepting": [state for state in self.states if state in self.accepting],
                "symbols": symbols,
                "delta": [[source, symbol, target] for (source, symbol), target in self.delta.items()],
            }
        if self.reading > 1:
            written["reading"] = self.reading
        if self.also_free:
            written["also_free"] = [symbol.plain() for symbol in self.also_free]
        return json.dumps(written, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | Mapping[str, Any]) -> TaskAutomaton:
        """Read the output of `to_json`, as text or already parsed.

        Raises AutomatonError for any other JSON.
        """
        try:
            data = parse_json(text, strict_numbers=False) if isinstance(text, str) else text
            symbols = [Symbol.from_plain(entry) for entry in data["symbols"]]
            reading = data.get("reading", 1)
            also_free = [Symbol.from_plain(entry) for entry in data.get("also_free", ())]
            if "stages" in data:
                stages = Stages(data["stages"], data["free"], optional=data.get("optional") is True)
                return cls(symbols=symbols, stages=stages, reading=reading, also_free=also_free)
            return cls(
                states=data["states"],
                symbols=symbols,
                start=data["start"],
                accepting=data["accepting"],
                delta={(source, symbol): target for source, symbol, target in data["delta"]},
                reading=reading,
                also_free=also_free,
            )
        except AutomatonError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise AutomatonError([f"not an automaton in JSON: {error!r}"]) from error

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, TaskAutomaton) and self.to_json() == other.to_json()

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"TaskAutomaton({len(self.states)} states, {len(self.symbols)} symbols)"


def _few(states: Sequence[str]) -> str:
    """Format states for a message; only the first ones where there are many."""
    if len(states) <= SHOWN_STATES:
        return str(list(states))
    return f"{list(states[:SHOWN_STATES])} and {len(states) - SHOWN_STATES} more"


Made = TypeVar("Made")


def once_each(make: Callable[[TaskAutomaton], Made]) -> Callable[[TaskAutomaton], Made]:
    """Return the function with its result cached for each automaton, for as long as that is used."""
    made: WeakKeyDictionary[TaskAutomaton, Made] = WeakKeyDictionary()

    @wraps(make)
    def cached(automaton: TaskAutomaton) -> Made:
        found = made.get(automaton)
        if found is None:
            found = made[automaton] = make(automaton)
        return found

    return cached
