"""The guard: whether a call may reach the rig."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from queue import SimpleQueue
from typing import TYPE_CHECKING, Literal

from core_eval.path.calls import StepKind
from firmware_bridge.approval import Approver, Question, TerminalApprover

if TYPE_CHECKING:
    from core_eval.path import Call, StepVerdict
    from devices.known_state import KnownState
    from devices.outcome import Outcome
    from devices.sensors import Sample
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

    @classmethod
    def usual(cls, *, simulated: bool) -> GuardMode:
        """The mode where neither the user nor the rig's file names one."""
        return cls.OBSERVE if simulated else cls.BLOCK


@dataclass(frozen=True, slots=True)
class GuardDecision:
    """What is to happen with a call, and why.

    Attributes:
        action: whether it goes, is refused, or stops the rig.
        reason: one line for the log.
        code, message: what the agent hears of a refusal: of an interlock, the device's own words.
        by_person: whether a person, asked about the call, stopped the rig.
    """

    action: Literal["allow", "block", "estop"]
    reason: str
    code: str = "guard"
    message: str = ""
    by_person: bool = False


class Guard:
    """Decides on a call that has not been sent.

    It looks at the rig's envelope first, then at the interlocks and limits that the host knows of, then at
    the scorer's verdict. The envelope holds in every mode; interlocks and limits in all but `observe`, where
    they are noted; nobody is asked about any of them. An interlock alone never stops the rig, since the
    device would have refused the call and moved nothing; mode `estop` stops it at a call that is harmful
    besides, or that leaves an envelope or a limit.

    Args:
        mode: what becomes of calls that the task's automaton calls harmful.
        envelope: the rig's limits, where it has any.
        approver: who is asked in mode `confirm`; left out: a person at the terminal.
        known: what the host knows of the rig; left out: nothing, as of tools that the kit has no rules for.
        samples: where the rig's readings come in, from any thread; they count from the next decision on.
    """

    def __init__(
        self,
        mode: GuardMode | str,
        envelope: Envelope | None = None,
        approver: Approver | None = None,
        known: KnownState | None = None,
        samples: SimpleQueue[Sample] | None = None,
    ) -> None:
        self.mode = GuardMode(mode)
        self._envelope = envelope
        self._approver = approver or TerminalApprover()
        self._known = known
        self._samples: SimpleQueue[Sample] = SimpleQueue() if samples is None else samples

    def decide(self, verdict: StepVerdict, call: Call) -> GuardDecision:
        """Whether the call may go; `verdict` is `OnlineScorer.peek` of it, and its arguments are complete."""
        while not self._samples.empty():
            sample = self._samples.get()
            if self._known is not None:
                self._known.on_sample(sample)
        outside = None if self._envelope is None else self._envelope.leaves(call.name, call.arguments)
        if outside is not None:
            return self._refuse(f"outside the rig's envelope: {outside}", harmful=True)
        harmful = verdict.kind == StepKind.HARMFUL
        held_back = self._held_back(call, harmful=harmful)
        what = _in_words(verdict)
        if self.mode is GuardMode.OBSERVE:
            noted = what if held_back is None else f"{what}; {held_back.reason}"
            return GuardDecision("allow", noted)
        if held_back is not None:
            return held_back
        if not harmful:
            return GuardDecision("allow", what)
        if self.mode is GuardMode.CONFIRM:
            return self._ask(call, what)
        return self._refuse(what, harmful=True)

    def on_outcome(self, call: Call, outcome: Outcome) -> None:
        """A call that was sent has this outcome; its arguments are complete."""
        if self._known is not None:
            self._known.on_outcome(call.name, call.arguments, outcome)

    def _held_back(self, call: Call, *, harmful: bool) -> GuardDecision | None:
        if self._known is None:
            return None
        refusal = self._known.refusal(call.name, call.arguments)
        if refusal is not None:
            reason = f"interlock {refusal.code}: {refusal.message}"
            return self._refuse(reason, harmful=harmful, code=refusal.code, message=refusal.message)
        beyond = self._known.limit_violation(call.name, call.arguments)
        if beyond is not None:
            return self._refuse(
                f"beyond a limit of the site: {beyond}", harmful=True, code="limit", message=beyond
            )
        return None

    def _refuse(self, reason: str, *, harmful: bool, code: str = "guard", message: str = "") -> GuardDecision:
        stops = harmful and self.mode is GuardMode.ESTOP
        return GuardDecision("estop" if stops else "block", reason, code, message or reason)

    def _ask(self, call: Call, what: str) -> GuardDecision:
        match self._approver.ask(Question(call.name, call.arguments, what)):
            case "approve":
                return GuardDecision("allow", f"approved by a person; {what}")
            case "stop":
                reason = f"stopped by a person; {what}"
                return GuardDecision("estop", reason, message=reason, by_person=True)
        reason = f"not approved; {what}"
        return GuardDecision("block", reason, message=reason)


def _in_words(verdict: StepVerdict) -> str:
    if verdict.kind != StepKind.HARMFUL:
        return f"{verdict.kind} in state {verdict.state_before}"
    why = (
        "no symbol of the task matches this call"
        if verdict.symbol is None
        else f"{verdict.symbol} is not allowed there"
    )
    return f"harmful in state {verdict.state_before}: {why}"
