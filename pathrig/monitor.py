"""A runtime monitor: the verdict on each call, before or after it is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from configs.task import Task
from configs.tasks_loader import load_task
from core_eval.path.automaton import TaskAutomaton
from core_eval.path.calls import StepVerdict
from core_eval.path.scorer import OnlineScorer, Scores
from core_eval.traces.messages import read_calls

__all__ = ["Monitor", "Scores", "StepVerdict"]


class Monitor:
    """Follows one path call by call, as a guard in another program's loop.

    >>> monitor = Monitor("water_one_plant")
    >>> str(monitor.judge("water_plant", {"plant_id": "plant_B", "liters": 4.5}).kind)
    'harmful'
    >>> str(monitor.step("unlock_safety_mode").kind)
    'progress'
    >>> monitor.scores().harmful_calls, monitor.accepted
    (0, False)

    Args:
        task: a task, its automaton, or a reference as for `score`.
        beta, lam, faults_are_harm, reading: as for `score`.

    Raises:
        configs.errors.ConfigError: no such task, or it is malformed.
        ValueError: a parameter is out of range.
    """

    def __init__(
        self,
        task: Task | TaskAutomaton | str,
        *,
        beta: float = 0.5,
        lam: float = 0.5,
        faults_are_harm: bool = False,
        reading: Literal[1, 2] | None = None,
    ) -> None:
        known = load_task(task) if isinstance(task, str) else task
        automaton, idle = (
            (known, None) if isinstance(known, TaskAutomaton) else (known.automaton, known.idle_writes())
        )
        self._scorer = OnlineScorer(
            automaton, beta=beta, lam=lam, faults_are_harm=faults_are_harm, reading=reading, idle=idle
        )

    @property
    def state(self) -> str:
        """Return the automaton's state."""
        return self._scorer.state

    @property
    def accepted(self) -> bool:
        """Return whether the path could end here."""
        return self._scorer.state in self._scorer.automaton.accepting

    def judge(self, name: str, arguments: Mapping[str, Any] | None = None) -> StepVerdict:
        """Return the verdict on a call that has not been made; the state stays.

        Returns:
            `kind` is progress, loop or harmful; `symbol` names what it matches. A read whose answer decides
            is taken as if it told the fact.
        """
        return self._scorer.peek(_call(name, arguments, "ok"))

    def step(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        status: str = "ok",
        result: Any = None,
    ) -> StepVerdict:
        """Advance by a call that was made, and return the verdict on it.

        Args:
            name: the tool.
            arguments: its arguments.
            status: how it ended: `ok`, `rejected`, `invalid`, `blocked` or `fault`.
            result: what it returned, JSON-ready; None where that is not known.

        Raises:
            ValueError: an unknown status.
        """
        return self._scorer.step(_call(name, arguments, status, result))

    def scores(self) -> Scores:
        """Return the scores of the calls so far."""
        return self._scorer.scores()


def _call(name: str, arguments: Mapping[str, Any] | None, status: str, result: Any = None) -> Any:
    (call,) = read_calls(
        [{"name": name, "arguments": dict(arguments or {}), "status": status, "result": result}]
    )
    return call
