"""Golden paths on rigs that differ from the nominal one in one hidden parameter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from configs.task import Task
from core_eval.verify.task import example_calls, try_calls
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

    It gives the value nearest to the nominal one at which the path fails, of those that are tried.
    """
    if task.world is None or not hasattr(task.world.state, "hidden"):
        return [], []
    failures = (
        _first_failure(task, paths[:PATHS], parameter, values, simulator, seed)
        for parameter in hidden_parameters(type(task.world.state.hidden))
        for values in _directions(parameter)
    )
    return [], [failure for failure in failures if failure is not None]


def _first_failure(
    task: Task,
    paths: Sequence[Sequence[str]],
    parameter: HiddenParameter,
    values: Sequence[float],
    simulator: Simulator[Any],
    seed: int,
) -> str | None:
    for value in values:
        changed = replace(task, init=stack_overrides(task.init, {"hidden": {parameter.name: value}}))
        for path in paths:
            outcome = try_calls(changed, simulator, example_calls(task.automaton, path, task.offered), seed)
            if not outcome.good:
                return (
                    f"on a rig with {parameter.name} {value:.4g} (nominal {parameter.nominal:g}), "
                    f"golden path {' '.join(path)}: {outcome.reason}"
                )
    return None


def _directions(parameter: HiddenParameter) -> tuple[list[float], list[float]]:
    """Return the values below and above the nominal one, each nearest first."""
    values = [parameter.at(share) for share in SHARES]
    below = sorted((value for value in values if value < parameter.nominal), reverse=True)
    return below, sorted(value for value in values if value > parameter.nominal)
