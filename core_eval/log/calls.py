"""Converts logged steps into the scorer's calls."""

from __future__ import annotations

from collections.abc import Sequence

from core_eval.log.rows import StepRow
from core_eval.path import Call, CallStatus, StepKind


def logged_calls(steps: Sequence[StepRow]) -> list[Call]:
    """Return the calls of an episode; a step whose result never came is left out."""
    return [
        Call(step.tool or "", step.arguments or {}, step.status, step.result, idle=_was_idle(step))
        for step in steps
        if step.status is not None
    ]


def _was_idle(step: StepRow) -> bool:
    """Return whether the step was found to be a write that changed nothing: a self-loop without a symbol."""
    return step.status == CallStatus.OK and step.kind == StepKind.LOOP and step.symbol is None
