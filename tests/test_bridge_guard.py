"""The guard's three modes."""

from __future__ import annotations

import pytest

from core_eval.path import StepVerdict
from firmware_bridge.guard import Guard, GuardMode

HARMFUL = StepVerdict(kind="harmful", symbol=None, state_before="q1", state_after="q1")
FINE = StepVerdict(kind="progress", symbol="a", state_before="q1", state_after="q2")


@pytest.mark.parametrize(("mode", "action"), [("observe", "allow"), ("block", "block"), ("estop", "estop")])
def test_only_harmful_calls_are_held_back(mode: str, action: str) -> None:
    guard = Guard(mode)
    assert guard.decide(FINE).action == "allow"
    decision = guard.decide(HARMFUL)
    assert decision.action == action and "q1" in decision.reason


def test_the_reason_names_the_symbol_that_is_not_allowed_there() -> None:
    verdict = StepVerdict(kind="harmful", symbol="water", state_before="q3", state_after="q3")
    assert "water" in Guard(GuardMode.BLOCK).decide(verdict).reason


def test_an_unknown_mode_is_an_error() -> None:
    with pytest.raises(ValueError):
        Guard("ask")
