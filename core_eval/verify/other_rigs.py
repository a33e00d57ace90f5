"""Golden paths on rigs that differ from the nominal one in one hidden parameter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from configs.task import Task
from core_eval.verify.trials import Trials, example_calls
from devices.hidden import HiddenParameter, hidden_parameters
from sims.overrides import stack_overrides
from sims.simulator import Simulator

SHARES = (0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0)
"""The values of a parameter that are tried, as shares of its range."""
PATHS = 2
"""Golden paths of a task that are run with each value."""


def check_other_rigs(
    task: Task, paths: Sequence[Sequence[str]], simulator: Simulator[Any], seed: int
) -> tuple[list[str], list[str]]:
    """Return a remark for each hidden parameter and direction in which a golden path fails on some rig.

    The value farthest from the nominal one is tried first. Where a path fails on it, the remark gives a value
    nearer to the nominal one at which it fails, found by halving, of those of `SHARES`.
    """
    if task.world is None or not hasattr(task.world.state, "hidden"):
        return [], []
    runs = [example_calls(task.automaton, path, task.offered) for path in paths[:PATHS]]

    def failure(parameter: HiddenParameter, value: float) -> str | None:
        hidden = stack_overrides(task.init, {"hidden": {parameter.name: value}})
        trial = Trials(replace(task, init=hidden), simulator, seed)
        for path, calls in zip(paths, runs, strict=False):
            if not (outcome := trial(calls)).good:
                return (
                    f"on a rig with {parameter.name} {value:.4g} (nominal {parameter.nominal:g}), "
                    f"golden path {' '.join(path)}: {outcome.reason}"
                )
        return None

    failures = (
        _nearest(values, partial(failure, parameter))
        for parameter in hidden_parameters(type(task.world.state.hidden))
        for values in _directions(parameter)
        if values
    )
    return [], [found for found in failures if found is not None]


def _nearest(values: Sequence[float], failure: Callable[[float], str | None]) -> str | None:
    """Return the failure nearest to the nominal value; None where there is none at the farthest one."""
    found = failure(values[-1])
    low, high = 0, len(values) - 1
    while found is not None and low < high:
        middle = (low + high) // 2
        nearer = failure(values[middle])
        low, high, found = (low, middle, nearer) if nearer is not None else (middle + 1, high, found)
    return found


def _directions(parameter: HiddenParameter) -> tuple[list[float], list[float]]:
    """Return the values below and above the nominal one, each nearest first."""
    values = [parameter.at(share) for share in SHARES]
    below = sorted((value for value in values if value < parameter.nominal), reverse=True)
    return below, sorted(value for value in values if value > parameter.nominal)
