"""Checks of a task's limits, cautions and ways left out: they are about its own calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from configs.task import Task
from sims.simulator import Simulator


def check_conditions(
    task: Task, paths: Sequence[Sequence[str]], _simulator: Simulator[Any], _seed: int
) -> tuple[list[str], list[str]]:
    """Return faults: a limit below the plan, a caution that is never judged, a way left out of no tool."""
    return list(_faults(task, paths)), []


def _faults(task: Task, paths: Sequence[Sequence[str]]) -> Iterator[str]:
    longest, steps = max(map(len, paths), default=0), task.limits.steps
    if steps is not None and steps < longest:
        yield f"limits.steps {steps} is below the {longest} calls of a golden path"
    planned = {symbol.tool for symbol in task.automaton.symbols.values()}
    for caution in task.cautions:
        judged = caution.before or caution.after
        if task.answer is None and judged not in planned:
            yield f"caution {caution.name}: the plan has no call of {judged}, so that it is never judged"
    for way in task.left_out:
        for tool in way.tools:
            if tool not in task.offered.by_name:
                yield f"left_out: there is no tool {tool!r}"
