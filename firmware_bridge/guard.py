"""The guard: whether a call may reach the rig."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Literal

from core_eval.path.calls import StepKind
from core_eval.path.patterns import Pattern, parse_pattern
from firmware_bridge.approval import Approver, Question, TerminalApprover

if TYPE_CHECKING:
    from core_eval.path.calls import Call, StepVerdict
    from devices.known_state import KnownState
    from devices.sensors import Sample


class Envelope:
    """The pattern of each argument of each tool.

    Args:
        limits: tool to argument to pattern, written as in a plan: `{min: 0, max: 20}`, `{in: [..]}`, a value.

    Raises:
        ValueError: not a pattern; one line that names tool and argument.
    """

    def __init__(self, limits: Mapping[str, Mapping[str, Any]]) -> None:
        self._limits: dict[str, dict[str, Pattern]] = {}
        for tool, arguments in limits.items():
            for argument, written in arguments.items():
                try:
                    pattern = parse_pattern(written)
                except ValueError as error:
                    raise ValueError(f"{tool}.{argument}: {error}") from None
                self._limits.setdefault(tool, {})[argument] = pattern

    def leaves(self, tool: str, arguments: Mapping[str, Any]) -> str | None:
        """Return what of a call is outside, in one line; None if it is inside.

        A limited argument that is missing is outside: the rig's default is not known.
        """
        for argument, pattern in self._limits.get(tool, {}).items():
            if argument not in arguments:
                if not pattern.may_be_missing:
                    return f"{tool} needs {argument}{pattern}, and it is missing"
            elif not pattern.holds(arguments[argument]):
                return (
                    f"{tool} has {argument}={arguments[argument]!r}, and the rig allows {argument}{pattern}"
                )
        return None


class GuardMode(StrEnum):
    """How the guard treats harmful calls."""

    OBSERVE = "observe"
    """Allow the call; the default on simulators."""
    BLOCK = "block"
    """Refuse the call; the default on physical rigs."""
    ESTOP = "estop"
    """Refuse the call and stop the rig."""
    CONFIRM = "confirm"
    """Ask a person, who approves, refuses, or stops the rig."""
    TWIN = "twin"
    """Allow it, and ask the rig's twin of each call: one that would do harm is asked about, or refused."""

    @classmethod
    def usual(cls, *, simulated: bool) -> GuardMode:
        """Return the default mode."""
        return cls.OBSERVE if simulated else cls.BLOCK


class RuleAction(StrEnum):
    """What a run does with a call that would violate a rule for good, from the mildest."""

    OBSERVE = "observe"
    """Send the call, and log the finding."""
    ALERT = "alert"
    """Also print it."""
    CONFIRM = "confirm"
    """Ask a person, who approves, refuses, or stops the rig."""
    BLOCK = "block"
    """Refuse the call; in the guard's mode `estop` also stop the rig."""


ACTION_OF: Mapping[GuardMode, RuleAction] = {
    GuardMode.OBSERVE: RuleAction.OBSERVE,
    GuardMode.CONFIRM: RuleAction.CONFIRM,
    GuardMode.BLOCK: RuleAction.BLOCK,
    GuardMode.ESTOP: RuleAction.BLOCK,
    GuardMode.TWIN: RuleAction.OBSERVE,
}
"""The action of a rule that names none."""


@dataclass(frozen=True, slots=True)
class Breach:
    """A rule that a call would violate for good; the action is None where the rule names none.

    Attributes:
        code: of the refusal; `twin`: it is the harm that the rig's twin foresees.
    """

    rule: str
    sentence: str
    action: RuleAction | None
    code: str = "rule"

    def __str__(self) -> str:
        return f"{self.code} {self.rule}: {self.sentence}"


@dataclass(frozen=True, slots=True)
class GuardDecision:
    """The guard's decision on a call.

    Attributes:
        action: whether the call is sent, is refused, or stops the rig.
        reason: one line for the log.
        code, message: the refusal as the agent sees it; for an interlock, as the device would state it.
        by_person: whether a person who was asked about the call stopped the rig.
    """

    action: Literal["allow", "block", "estop"]
    reason: str
    code: str = "guard"
    message: str = ""
    by_person: bool = False


class Guard:
    """Decides whether a call may be sent.

    A safe call is always sent. Of any other it checks the rig's envelope first, then the known interlocks and
    limits, then the scorer's verdict and the rules that it would violate. The envelope applies in every mode;
    interlocks and limits in all but `observe`, where they are noted. None of them needs approval. An
    interlock alone never stops the rig, since the device would refuse the call; mode `estop` stops it at a
    call that is also harmful, that violates a rule that blocks, or that leaves an envelope or a limit. A
    retreat is let through although it is off the path in mode `block`, or violates such a rule.

    Args:
        mode: the treatment of calls that are harmful by the task's automaton.
        envelope: the rig's limits, if it has any.
        approver: asked in mode `confirm`; by default a person at the terminal.
        known: the known state of the rig, updated by the caller with the outcomes of calls; None for tools
            that the kit has no rules for.
        samples: the queue of the rig's readings, which each decision empties.
        safe: names of the tools that take the rig towards rest and move nothing else.
        retreats: names of the tools that move it to its rest.
        site: tells why a call is outside the site's limits, which apply in every mode but to a retreat.
    """

    def __init__(
        self,
        mode: GuardMode | str,
        envelope: Envelope | None = None,
        approver: Approver | None = None,
        known: KnownState | None = None,
        samples: SimpleQueue[Sample] | None = None,
        safe: Collection[str] = (),
        retreats: Collection[str] = (),
        site: Callable[[Call], str | None] | None = None,
    ) -> None:
        self.mode = GuardMode(mode)
        self._envelope = envelope
        self._approver = approver or TerminalApprover()
        self._known = known
        self._safe, self._retreats, self._site = safe, retreats, site
        self._samples: SimpleQueue[Sample] = SimpleQueue() if samples is None else samples

    def decide(self, verdict: StepVerdict, call: Call, breaches: Sequence[Breach] = ()) -> GuardDecision:
        """Decide on a call with all its arguments.

        Args:
            verdict: its `OnlineScorer.peek`.
            breaches: the rules that it would violate.
        """
        while not self._samples.empty():
            sample = self._samples.get()
            if self._known is not None:
                self._known.on_sample(sample)
        harmful = verdict.kind == StepKind.HARMFUL
        what = f"{verdict.kind} in state {verdict.state_before}"
        if harmful:
            why = "no symbol of the task matches this call"
            what = f"{what}: {why if verdict.symbol is None else f'{verdict.symbol} is not allowed there'}"
        what = "; ".join([what, *map(str, breaches)])
        if call.name in self._safe:
            return GuardDecision("allow", f"a safe call; {what}")
        outside = None if self._envelope is None else self._envelope.leaves(call.name, call.arguments)
        if outside is not None:
            return self._refuse(f"outside the rig's envelope: {outside}", harmful=True)
        outside = None if self._site is None or call.name in self._retreats else self._site(call)
        if outside is not None:
            reason = f"outside the site's limits: {outside}"
            return self._refuse(reason, harmful=True, code="site", message=outside)
        held_back = self._held_back(call, harmful=harmful)
        if held_back is not None:
            if self.mode is not GuardMode.OBSERVE:
                return held_back
            what = f"{what}; {held_back.reason}"
        blocking = [one for one in breaches if self._action(one) is RuleAction.BLOCK]
        if blocking or (harmful and ACTION_OF[self.mode] is RuleAction.BLOCK):
            if self.mode is not GuardMode.ESTOP and call.name in self._retreats:
                return GuardDecision("allow", f"a retreat; {what}")
            if blocking:
                message = "; ".join(map(str, blocking))
                return self._refuse(what, harmful=True, code=blocking[0].code, message=message)
            return self._refuse(what, harmful=True)
        asking = any(self._action(one) is RuleAction.CONFIRM for one in breaches)
        if asking or (harmful and self.mode is GuardMode.CONFIRM):
            return self._ask(call, what)
        return GuardDecision("allow", what)

    def _action(self, breach: Breach) -> RuleAction:
        return breach.action or ACTION_OF[self.mode]

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
        match self._approver.ask(Question(call.name, call.arguments, what)).answer:
            case "approve":
                return GuardDecision("allow", f"approved by a person; {what}")
            case "stop":
                reason = f"stopped by a person; {what}"
                return GuardDecision("estop", reason, message=reason, by_person=True)
        reason = f"not approved; {what}"
        return GuardDecision("block", reason, message=reason)
