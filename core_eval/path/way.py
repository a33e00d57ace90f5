"""The way that a trace took through a task's automaton."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from core_eval.path.automaton import TaskAutomaton
from core_eval.path.calls import Call, CallStatus, StepKind
from core_eval.path.layout import Edge
from core_eval.path.scorer import OnlineScorer


@dataclass
class Way:
    """What a trace did, by state: call numbers from 0 of its progress, its reads and its harmful attempts."""

    progress: dict[Edge, list[int]] = field(default_factory=dict)
    loops: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    harmful: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    visited: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, automaton: TaskAutomaton, calls: Iterable[Call]) -> Way:
        """Follow a trace."""
        way = cls(visited={automaton.start})
        scorer = OnlineScorer(automaton)
        for number, call in enumerate(calls):
            verdict = scorer.step(call)
            state = verdict.state_before
            if verdict.kind == StepKind.PROGRESS:
                way.progress.setdefault((state, verdict.state_after), []).append(number)
                way.visited.add(verdict.state_after)
            elif verdict.kind == StepKind.LOOP:
                way.loops.setdefault(state, []).append((number, verdict.symbol or call.name))
            elif verdict.kind == StepKind.HARMFUL:
                why = "" if call.status == CallStatus.OK else f" [{call.status}]"
                way.harmful.setdefault(state, []).append((number, (verdict.symbol or _written(call)) + why))
        return way

    @property
    def begun(self) -> bool:
        """Whether there is a trace at all."""
        return bool(self.progress or self.loops or self.harmful)


def _written(call: Call) -> str:
    """Give a call that is no symbol, with its arguments."""
    if not call.arguments:
        return call.name or "(no call)"
    return f"{call.name}({', '.join(f'{name}={value}' for name, value in call.arguments.items())})"
