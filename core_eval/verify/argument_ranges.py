"""Checks of other numbers in a golden path's calls: they reach the goal if and only if they are accepted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from configs.task import Task
from core_eval.path.calls import Call
from core_eval.path.scorer import accepts
from core_eval.verify.trials import Trials, example_calls
from sims.simulator import Simulator
from sims.software.world import SoftwareWorld

FACTORS = (0.8, 0.9, 0.95, 0.98, 1.02, 1.05, 1.1, 1.2)
"""Factors by which a number is multiplied."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A changed number: why the path fails with it (None: it does not), and whether it is accepted."""

    value: float
    failure: str | None
    accepted: bool


def check_ranges(
    task: Task, paths: Sequence[Sequence[str]], simulator: Simulator[Any], seed: int
) -> tuple[list[str], list[str]]:
    """Return faults (a number is accepted although the goal is missed or harm is done) and advice.

    The first golden path is tried. The advice names the widest range around the golden number that reaches
    the goal and is not accepted.
    """
    faults: list[str] = []
    advice: list[str] = []
    # Poses and doses of worlds with physics are tried by `check_ways`.
    if task.goal is None or not paths or not isinstance(simulator, SoftwareWorld):
        return faults, advice
    calls = example_calls(task.automaton, paths[0], task.offered)
    for k, name, value in _numbers(calls, task):
        tried = [_try(task, calls, k, name, value * factor, simulator, seed) for factor in FACTORS]
        where = f"call {k} ({calls[k].name}) {name}"
        faults += (
            f"too wide: accepts {where} {one.value:.4g}, but {one.failure}"
            for one in tried
            if one.accepted and one.failure is not None
        )
        good = _around(tried, value)
        if any(not one.accepted for one in good):
            low = min(value, *(one.value for one in good))
            high = max(value, *(one.value for one in good))
            advice.append(
                f"perhaps too narrow: {where} reaches the goal from {low:.4g} to {high:.4g}: allow that"
            )
    return faults, advice


def _numbers(calls: Sequence[Call], task: Task) -> Iterator[tuple[int, str, float]]:
    for k, call in enumerate(calls):
        if call.name in task.offered.reads:
            continue
        for name, value in call.arguments.items():
            if isinstance(value, int | float) and not isinstance(value, bool) and value:
                yield k, name, value


def _try(
    task: Task, calls: Sequence[Call], k: int, name: str, value: float, simulator: Simulator[Any], seed: int
) -> Tried:
    if isinstance(calls[k].arguments[name], int):
        value = round(value)
    call = replace(calls[k], arguments={**calls[k].arguments, name: value})
    changed = [*calls[:k], call, *calls[k + 1 :]]
    outcome = Trials(task, simulator, seed)(changed)
    return Tried(value, None if outcome.good else outcome.reason, accepts(task.automaton, changed))


def _around(tried: Sequence[Tried], value: float) -> list[Tried]:
    """Return the good ones without a bad one between them and the golden number."""
    found: list[Tried] = []
    for side in (
        sorted((one for one in tried if one.value < value), key=lambda one: -one.value),
        sorted((one for one in tried if one.value > value), key=lambda one: one.value),
    ):
        for one in side:
            if one.failure is not None:
                break
            found.append(one)
    return found
