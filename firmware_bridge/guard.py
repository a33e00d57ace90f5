"""The guard: whether a call may reach the rig."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from core_eval.path import StepVerdict


class GuardMode(StrEnum):
    """What the guard does with a harmful call."""

    OBSERVE = "observe"
    """Nothing: for simulators."""
    BLOCK = "block"
    """It refuses the call; the default on physical rigs."""
    ESTOP = "estop"
    """It refuses the call and stops the rig."""


@dataclass(frozen=True, slots=True)
class GuardDecision:
    """What is to happen with a call, and why, in one line."""

    action: Literal["allow", "block", "estop"]
    reason: str


class Guard:
    """Decides by the scorer's verdict on a call that has not been sent (`OnlineScorer.peek`)."""

    def __init__(self, mode: GuardMode | str) -> None:
        self.mode = GuardMode(mode)

    def decide(self, verdict: StepVerdict) -> GuardDecision:
        """Whether the call may go."""
        if verdict.kind != "harmful":
            return GuardDecision("allow", f"{verdict.kind} in state {verdict.state_before}")
        what = f"harmful in state {verdict.state_before}: " + (
            "no symbol of the task matches this call"
            if verdict.symbol is None
            else f"{verdict.symbol} is not allowed there"
        )
        if self.mode is GuardMode.OBSERVE:
            return GuardDecision("allow", what)
        return GuardDecision("estop" if self.mode is GuardMode.ESTOP else "block", what)
