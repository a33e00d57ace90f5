"""A harmless run of a task, the proof that somebody with the agent's tools need do no harm; what tells it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from random import Random
from threading import Event
from typing import Any

from configs.operator import ASK_TOOL, Conversation
from configs.site_notes import notes_of
from configs.task import Task
from configs.worlds_loader import merged_state
from core_eval.call_status import CallStatus
from core_eval.harm.ways import waits, ways
from core_eval.path.calls import Call
from core_eval.verify.candidates import calls_of, leaves
from core_eval.verify.task import golden_sample
from core_eval.verify.trials import Trials, example_calls
from devices.tool import WAIT
from sims.simulator import Simulator

DECLINING = "declining"
"""The kind of proof by no call at all; the others are those of `core_eval.harm.ways`."""
PATHS = 4
MOST_TRIED = 40


@dataclass(frozen=True)
class Proof:
    """A harmless run, and of which kind it is."""

    kind: str
    calls: tuple[Call, ...]


def asked_run(task: Task, simulator: Simulator[Any], seed: int, first: Sequence[Call]) -> Proof | None:
    """Return a golden run without harm, at once or after a wait, where every other tried is so after it too.

    So doing what is asked harms nothing, in whatever order; None if it does.

    Args:
        task: with the initial state.
        simulator: of its world.
        seed: with which the world begins.
        first: the golden run to try first.
    """

    trial = Trials(task, simulator, seed, first_harm=True)
    others = _others(task, first)
    for kind, wait in waits(task.device):
        own = trial((*wait, *first))
        if own.good and all(trial((*wait, *run)).good for run in others):
            return Proof(kind, (*wait, *first))
        if not own.good and own.harm is None:
            # No wait makes up for a refusal or a missed goal.
            return None
    return None


def harmless_run(task: Task, simulator: Simulator[Any], seed: int, first: Sequence[Call]) -> Proof | None:
    """Return a run that reaches the goal without harm; None if the search finds none.

    At most `MOST_TRIED` runs are tried, in the order of the kinds. One that declines counts only for a task
    that asks for no call. Arguments as of `asked_run`.
    """
    trial = Trials(task, simulator, seed, first_harm=True)
    for kind, calls in islice(ways(task.device, [list(first), *_others(task, first)]), MOST_TRIED):
        if trial(calls).good:
            return Proof(kind, calls)
    return None


def told(
    task: Task, simulator: Simulator[Any], seed: int, before: Sequence[Call], init: Mapping[str, Any]
) -> list[list[Any]]:
    """Return the reads that tell a task's start from another: tool, arguments, and both answers.

    The other one is `init` after the calls `before`: the start without its hazards, or this one after a wait.
    """
    simulator.init(task.init, seed)
    names = [name for name in leaves(simulator.state_dict()) if isinstance(name, str)]
    offered, silent = task.offered, (WAIT, ASK_TOOL)
    tools = (tool for tool in offered.tools if tool.name in offered.reads and tool not in silent)
    reads = [call for tool in tools for call in calls_of(tool, names)]
    now = _answers(task, simulator, seed, reads, task.init)
    other = _answers(task, simulator, seed, [*before, *reads], init)[len(before) :]
    return [
        [call.name, dict(call.arguments), here, there]
        for call, here, there in zip(reads, now, other, strict=True)
        if here != there
    ]


def _answers(
    task: Task, simulator: Simulator[Any], seed: int, calls: Sequence[Call], init: Mapping[str, Any]
) -> list[Any]:
    """Return what a world that begins so, and its notes, answer to calls: values, or codes of refusals."""
    simulator.init(init, seed)
    stop = Event()
    world = task.world
    assert world is not None
    notes = notes_of(world.notes, merged_state(world, init).model_dump(mode="json"))
    answers = Conversation(None, notes)
    outcomes = [
        answers.outcome(
            call.name, call.arguments, partial(simulator.execute, call.name, call.arguments, stop)
        )
        for call in calls
    ]
    return [one.value if one.status is CallStatus.OK else one.code for one in outcomes]


def declined(task: Task, simulator: Simulator[Any], seed: int) -> Proof | None:
    """Return the run without a call; None if harm is done even then."""
    return Proof(DECLINING, ()) if Trials(task, simulator, seed)(()).harm is None else None


def _others(task: Task, first: Sequence[Call]) -> list[list[Call]]:
    """Return golden runs beside one, a sample if there are more."""
    paths, _ = golden_sample(task.automaton, Random(0))
    drawn = Random(0).sample(paths, min(PATHS, len(paths)))
    runs = (example_calls(task.automaton, path, task.offered) for path in drawn)
    return [run for run in runs if run != list(first)]
