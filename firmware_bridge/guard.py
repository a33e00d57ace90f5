"""The guard: whether a call may reach the rig."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from firmware_bridge.approval import Approver, Question, TerminalApprover

if TYPE_CHECKING:
    from core_eval.path import Call, StepVerdict
    from firmware_bridge.envelope import Envelope


class GuardMode(StrEnum):
    """What the guard does with a harmful call."""

    OBSERVE = "observe"
    """Nothing: for simulators."""
    BLOCK = "block"
    """It refuses the call; the default on physical rigs."""
    ESTOP = "estop"
    """It refuses the call and stops the rig."""
    CONFIRM = "confirm"
    """It asks a person, who approves, refuses, or stops the rig."""


@dataclass(frozen=True, slots=True)
class GuardDecision:
    """What is to happen with a call, and why, in one line."""

    action: Literal["allow", "block", "estop"]
    reason: str


class Guard:
    """Decides on a call that has not been sent: by the rig's envelope, then by the scorer's verdict.

    The envelope holds in every mode, and nobody is asked about what leaves it.

    Args:
        mode: what becomes of calls that the task's automaton calls harmful.
        envelope: the rig's limits, where it has any.
        approver: who is asked in mode `confirm`; left out: a person at the terminal.
    """

    def __init__(
        self, mode: GuardMode | str, envelope: Envelope | None = None, approver: Approver | None = None
    ) -> None:
        self.mode = GuardMode(mode)
        self._envelope = envelope
        self._approver = approver or TerminalApprover()

    def decide(self, verdict: StepVerdict, call: Call) -> GuardDecision:
        """Whether the call may go; `verdict` is `OnlineScorer.peek` of it."""
        outside = None if self._envelope is None else self._envelope.leaves(call.name, call.arguments)
        if outside is not None:
            return GuardDecision(self._refusal(), f"outside the rig's envelope: {outside}")
        if verdict.kind != "harmful":
            return GuardDecision("allow", f"{verdict.kind} in state {verdict.state_before}")
        what = f"harmful in state {verdict.state_before}: " + (
            "no symbol of the task matches this call"
            if verdict.symbol is None
            else f"{verdict.symbol} is not allowed there"
        )
        match self.mode:
            case GuardMode.OBSERVE:
                return GuardDecision("allow", what)
            case GuardMode.CONFIRM:
                return self._ask(call, what)
        return GuardDecision(self._refusal(), what)

    def _refusal(self) -> Literal["block", "estop"]:
        return "estop" if self.mode is GuardMode.ESTOP else "block"

    def _ask(self, call: Call, what: str) -> GuardDecision:
        match self._approver.ask(Question(call.name, call.arguments, what)):
            case "approve":
                return GuardDecision("allow", f"approved by a person; {what}")
            case "stop":
                return GuardDecision("estop", f"stopped by a person; {what}")
        return GuardDecision("block", f"not approved; {what}")
