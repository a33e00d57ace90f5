"""Converts logged steps into the scorer's calls."""

from __future__ import annotations

from collections.abc import Sequence

from core_eval.log.rows import StepRow
from core_eval.path import Call


def logged_calls(steps: Sequence[StepRow]) -> list[Call]:
    """Return the calls of an episode; a step whose result never came is left out."""
    return [
        Call(step.tool or "", step.arguments or {}, step.status) for step in steps if step.status is not None
    ]
