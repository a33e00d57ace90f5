"""The path that a trace took through a task's automaton."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from core_eval.path.automaton import TaskAutomaton
from core_eval.path.calls import Call, CallStatus, StepKind
from core_eval.path.scorer import OnlineScorer
from core_eval.report.pictures.automaton_layout import Edge


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
            verdict = scorer.step(call)
            state = verdict.state_before
            if verdict.kind == StepKind.PROGRESS:
                path.progress.setdefault((state, verdict.state_after), []).append(number)
                path.visited.add(verdict.state_after)
                path.end = verdict.state_after
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


def edges_of(automaton: TaskAutomaton) -> dict[Edge, list[str]]:
    """Return the progress edges; symbols between the same two states are grouped."""
    edges: dict[Edge, list[str]] = {}
    for source, out in automaton.progress.items():
        for symbol, target in out:
            edges.setdefault((source, target), []).append(symbol)
    return edges
