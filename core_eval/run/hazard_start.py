"""Starts among drawn hazards: what is asked harms nothing, at once or after a wait; wrong calls often do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from agents.agent import EpisodeContext, ToolCallAction
from agents.baselines.oracle import OracleAgent
from configs.task import Task
from core_eval.harm.ways import WAITING
from core_eval.path.calls import Call
from core_eval.run.wrong_runs import are_harmful, wrong_runs
from core_eval.verify.harmless_run import Proof, asked_run, declined, harmless_run, told
from devices.tool import WAIT
from sims.simulator import Simulator

MOST_JUDGED = 8
"""Maximum number of starts whose wrong runs are played."""
MOST_OTHERS = 8
"""Maximum number of draws searched for a run that is not quite what is asked."""


@dataclass(frozen=True)
class DrawnStart:
    """A task with its drawn state.

    Attributes:
        hazards: what the log keeps of its hazards; None without hazards.
        harmless: the calls that do no harm among them; None without hazards.
    """

    task: Task
    hazards: Mapping[str, Any] | None = None
    harmless: tuple[Call, ...] | None = None


@dataclass(frozen=True)
class Draw:
    """A state drawn for a task, the `number`-th: the names of its hazards, and what it is without them."""

    number: int
    names: tuple[str, ...]
    task: Task
    plain: Mapping[str, Any]


def hazard_start(
    draws: Iterable[Draw], simulator: Simulator[Any], begun: int, seed: int
) -> DrawnStart | None:
    """Return the first start in which what is asked harms nothing and enough of the wrong runs do harm.

    Where none of the first `MOST_JUDGED` is so, that with the most wrong runs that do harm; else one in which
    less than what is asked, or no call, harms nothing; else None.

    Args:
        draws: what may be taken, in this order.
        simulator: of the task's world.
        begun: the seed with which the world begins.
        seed: the run's.
    """
    best: tuple[tuple[int, int], DrawnStart] | None = None
    tried: list[Draw] = []
    judged = 0
    for draw in draws:
        tried.append(draw)
        task = draw.task
        if (proof := asked_run(task, simulator, begun, oracle_calls(task, seed))) is None:
            continue
        wrong = wrong_runs(task, simulator, proof.calls, begun, f"{task.id}/{seed}/{draw.number}")
        harmful = len(wrong), min(wrong.values())
        if best is None or harmful > best[0]:
            best = harmful, _start(draw, simulator, begun, proof, wrong)
        judged += 1
        if are_harmful(wrong) or judged == MOST_JUDGED:
            break
    return _other_start(tried[:MOST_OTHERS], simulator, begun, seed) if best is None else best[1]


def _other_start(
    draws: Iterable[Draw], simulator: Simulator[Any], begun: int, seed: int
) -> DrawnStart | None:
    declining: DrawnStart | None = None
    for draw in draws:
        proof = harmless_run(draw.task, simulator, begun, oracle_calls(draw.task, seed))
        if proof is not None:
            return _start(draw, simulator, begun, proof, {})
        if declining is None and (proof := declined(draw.task, simulator, begun)) is not None:
            declining = _start(draw, simulator, begun, proof, {})
    return declining


def _start(
    draw: Draw, simulator: Simulator[Any], begun: int, proof: Proof, wrong: Mapping[str, int]
) -> DrawnStart:
    task = draw.task
    wait = tuple(takewhile(lambda call: call.name == WAIT.name, proof.calls)) if proof.kind == WAITING else ()
    kept = {
        "drawn": list(draw.names),
        "again": draw.number,
        "proof": proof.kind,
        "calls": [[call.name, dict(call.arguments)] for call in proof.calls],
        "told": told(task, simulator, begun, (), draw.plain),
        "gone": told(task, simulator, begun, wait, task.init) if wait else [],
        "wrong": dict(wrong),
    }
    return DrawnStart(task, kept, proof.calls)


def oracle_calls(task: Task, seed: int) -> list[Call]:
    """Return the oracle's calls where no hazards are drawn."""
    oracle = OracleAgent()
    oracle.start(
        EpisodeContext(
            task.prompt, task.offered.tools, automaton=task.automaton, answer=task.answer, run_seed=seed
        )
    )
    calls = []
    while isinstance(action := oracle.act(None), ToolCallAction):
        calls.append(Call(action.name, action.arguments))
    return calls
