"""Checks that a goal fails where a golden path's writes are left out, doubled, or made on another entity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from configs.task import Task
from core_eval.path.calls import Call
from core_eval.path.scorer import accepts
from core_eval.text.values import alike, is_number
from core_eval.verify.candidates import leaves
from core_eval.verify.search import excused
from core_eval.verify.trials import Trials, example_calls
from sims.simulator import Simulator
from sims.software.world import SoftwareWorld

TWICE = "made twice"
MOST_OTHERS = 40
"""Maximum number of other values that are tried for an argument."""


def check_goal(
    task: Task, paths: Sequence[Sequence[str]], simulator: Simulator[Any], seed: int
) -> tuple[list[str], list[str]]:
    """Return a fault for each change of the first golden path that ends elsewhere, and meets the goal too.

    Changes: a write is left out, made twice, or has another name or number of the world. One that the
    automaton accepts is another golden path, and one that the task's file leaves out is meant. A write made
    twice is a remark: some may be repeated. In worlds with physics only places have other names, `check_ways`
    tries the numbers, and no two ways end in the same state; where such a world states no `ways`, nothing is
    tried.
    """
    if task.goal is None or task.answer is not None or not paths:
        return [], []
    physics = not isinstance(simulator, SoftwareWorld)
    if physics and (task.world is None or not task.world.type.ways):
        return [], []
    calls = example_calls(task.automaton, paths[0], task.offered)
    trial = Trials(task, simulator, seed)
    trial(calls)
    end = simulator.state_dict()
    faults: list[str] = []
    remarks: list[str] = []
    idle = task.idle_writes(seed)
    known = _places(task, end) if physics else list(leaves(end))
    for what, changed in _changes(task, calls, known, numbers=not physics):
        if accepts(task.automaton, changed, idle=idle) or excused(task, changed):
            continue
        outcome = trial(changed)
        if outcome.good and (physics or not alike(simulator.state_dict(), end)):
            found = remarks if what.endswith(TWICE) else faults
            found.append(f"the goal is too weak: it holds with {what}")
    return faults, remarks


def _places(task: Task, state: Mapping[str, Any]) -> list[Any]:
    keys = () if task.world is None else task.world.type.place_keys
    return [name for key in keys for name in state.get(key, ())]


def _changes(
    task: Task, calls: Sequence[Call], known: Sequence[Any], *, numbers: bool
) -> Iterator[tuple[str, list[Call]]]:
    values = list(dict.fromkeys(value for value in known if isinstance(value, str | int | float)))
    for k, call in enumerate(calls):
        if call.name in task.offered.reads:
            continue
        before, after = list(calls[:k]), list(calls[k + 1 :])
        yield f"call {k} ({call.name}) left out", before + after
        yield f"call {k} ({call.name}) {TWICE}", [*before, call, call, *after]
        for name, value in call.arguments.items():
            for other in _others(value, values) if numbers or isinstance(value, str) else ():
                changed = replace(call, arguments={**call.arguments, name: other})
                yield f"call {k} ({call.name}) with {name} {other!r}", [*before, changed, *after]


def _others(value: Any, values: Sequence[Any]) -> Iterator[Any]:
    """Yield other values of an argument's kind: numbers near and far, names of the world."""
    if is_number(value):
        yield from (kind(value * factor) for kind in [type(value)] for factor in (2, 10) if value)
    elif isinstance(value, str):
        names = [name for name in values if isinstance(name, str) and name != value]
        yield from names[:MOST_OTHERS]
