"""The loop of agent, guard and rig. Each call is logged before it is sent."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from agents.agent import (
    RUNAWAY,
    Agent,
    BackendError,
    EpisodeContext,
    InvalidAction,
    Limits,
    Observation,
    StopAction,
    ToolCallAction,
)
from agents.deadline import CancelledError, Deadline
from core_eval.call_status import CallStatus
from core_eval.log import ENDED_BY_AGENT, RULE, Emit, EpisodeLog, EpisodeStatus, Intent
from core_eval.path.calls import Call, StepVerdict
from core_eval.rig.session import RigSession
from core_eval.rig.signals import RigError, StopButton, StopSignals
from core_eval.rules.episode import EpisodeRules, logged_finding
from core_eval.run.episode_start import Assignment
from core_eval.score.disturbance import MOST, Disturbance
from core_eval.text.json_text import as_logged
from devices.outcome import Outcome
from devices.tool import ArgumentsError
from firmware_bridge.guard import Guard, GuardDecision, GuardMode

if TYPE_CHECKING:
    from core_eval.run.ahead import TwinAhead

STOPPED = "stopped by a person"
T = TypeVar("T")


class AgentError(Exception):
    """The agent, not the rig, failed; one line."""


@dataclass(frozen=True)
class Ending:
    """Status and reason with which an episode ends, and what the agent said to it."""

    status: EpisodeStatus
    reason: str
    said: str = ""


class Loop:
    """The steps of one episode.

    Attributes:
        guard, disturbance: set once the rig is known.
        ahead: what its twin foretells; None: it has no part in the guard.
    """

    def __init__(
        self,
        what: Assignment,
        session: RigSession,
        agent: Agent,
        signals: StopSignals,
        emit: Emit,
        stop_button: StopButton,
        limits: Limits,
    ) -> None:
        task = what.task
        self._session, self._agent, self._signals, self._emit = session, agent, signals, emit
        self._stop_button = stop_button
        self._offered = task.offered
        self._scorer = task.scorer(what.world_seed, what.scoring)
        # A number that was said in words has its place in the task as it is written.
        told = "\n".join((task.prompt, what.prompt, task.device.advice))
        self._rules = EpisodeRules(what.rules, task.offered.schemas(), told) if what.rules else None
        self._conversation = task.conversation()
        self._k = 0
        # Scripts and golden paths end by themselves; a truncated one would be scored as another path.
        self._limits = RUNAWAY if agent.scaffold == "none" else limits
        self._deadline = Deadline(self._limits.seconds)
        self.guard = Guard(GuardMode.OBSERVE)
        self.disturbance = Disturbance(simulated=True, draws_link_faults=False)
        self.ahead: TwinAhead | None = None

    def by_person(self) -> Ending:
        """How an episode ends that a person stopped."""
        return Ending("stopped", "stop_input" if self._session.held else "person")

    def start(self, context: EpisodeContext) -> None:
        """Start the agent; its time begins.

        Raises:
            AgentError: it failed.
        """
        self._deadline = Deadline(self._limits.seconds)
        self._ask_agent(partial(self._agent.start, context))

    def run(self, episode: EpisodeLog) -> Ending:
        """Let the agent act until the episode ends; return how.

        Raises:
            AgentError, RigError: one of them failed.
            CancelledError: a person stopped the rig while the agent was asked, or the rig was lost.
        """
        observation: Observation | None = None
        while True:
            self._session.check()
            if self._stop_button.pressed:
                return self.by_person()
            action = self._ask_agent(partial(self._agent.act, observation))
            for remark in action.usage.remarks:
                self._session.recorder.note("remark", {"k": self._k, "remark": remark})
            ending = None
            if self._stop_button.pressed:
                ending = self.by_person()
            elif isinstance(action, StopAction):
                status: EpisodeStatus = "completed" if action.reason in ENDED_BY_AGENT else "stopped"
                ending = Ending(status, action.reason, action.said)
            elif self._k >= self._limits.steps:
                ending = Ending("stopped", "max_steps")
            elif self._deadline.left <= 0:
                ending = Ending("stopped", "max_time")
            if ending is not None:
                # The agent's last answer leads to no step.
                episode.turn(self._k, action.usage)
                return ending
            assert not isinstance(action, StopAction)
            if isinstance(action, InvalidAction):
                outcome = Outcome(CallStatus.INVALID, code=action.code, message=action.reason)
                call = ToolCallAction("", {}, action.usage)
                if self._rules is not None:
                    self._rules.breaches(Call("", {}), action.usage)
                self._record(episode, Intent(self._k, None, None), call, outcome)
            else:
                call = ToolCallAction(action.name, as_logged(dict(action.arguments)), action.usage)
                outcome = self._step(episode, call)
                if self._stop_button.pressed:
                    return self.by_person()
                if outcome.status == CallStatus.REJECTED and outcome.code == "estop":
                    return Ending("stopped", "estop")
                if outcome.status == CallStatus.BLOCKED and outcome.code == "guard_stop":
                    return Ending("stopped", "guard")
            observation = None if isinstance(action, InvalidAction) else Observation(call, outcome)

    def _step(self, episode: EpisodeLog, call: ToolCallAction) -> Outcome:
        intent = Intent(self._k, call.name, call.arguments)
        made = Call(call.name, call.arguments)
        breaches = [] if self._rules is None else self._rules.breaches(made, call.usage)
        try:
            typed = self._offered.validate(call.name, call.arguments)
        except ArgumentsError as error:
            code = "bad_arguments" if call.name in self._offered.by_name else "unknown_tool"
            return self._record(
                episode, intent, call, Outcome(CallStatus.INVALID, code=code, message=str(error))
            )
        verdict = self._scorer.peek(made)
        if call.name in self._conversation.taken:
            # Neither the guard nor the rig has a part in it.
            return self._record(episode, intent, call, None)
        with self._signals.interruptible():
            # The rig would use the defaults of arguments that the model left out: check them too.
            complete = Call(call.name, typed.model_dump())
            if self.ahead is not None:
                breaches += self.ahead.breaches(complete)
            decision = self.guard.decide(verdict, complete, breaches)
        if self._stop_button.pressed and decision.action == "allow":
            decision = GuardDecision("estop", STOPPED, message=STOPPED, by_person=True)
        intent = Intent(
            self._k,
            call.name,
            call.arguments,
            call_id=uuid.uuid4().hex[:16] if decision.action == "allow" else None,
            guard_action=decision.action,
            guard_reason=decision.reason or None,
        )
        if decision.action == "allow":
            return self._record(episode, intent, call, None, complete, verdict)
        code = decision.code
        if decision.action == "estop":
            code = "guard_stop"
            if decision.by_person:
                # After a person's stop, the next episode must not start the rig again.
                self._stop_button.press()
            else:
                self._session.stop_now("guard")
        return self._record(
            episode, intent, call, Outcome(CallStatus.BLOCKED, code=code, message=decision.message)
        )

    def _record(
        self,
        episode: EpisodeLog,
        intent: Intent,
        call: ToolCallAction,
        outcome: Outcome | None,
        complete: Call | None = None,
        peeked: StepVerdict | None = None,
    ) -> Outcome:
        step = episode.intent(intent, call.usage)
        if outcome is None:
            with self._signals.interruptible():
                send = partial(
                    self._session.call,
                    *(call.name, call.arguments, intent.call_id),
                    within=self._deadline.left,
                    complete=complete,
                )
                talks = self._conversation.taken
                outcome = self._conversation.outcome(call.name, call.arguments, send) if talks else send()
        made = Call(call.name, call.arguments, outcome.status, outcome.value)
        if call.name in self._conversation.taken:
            self._session.tell_chip(made, intent.call_id)
        if self.ahead is not None and complete is not None:
            self.ahead.take(self._k, complete, outcome)
        verdict = self._scorer.step(made, peeked)
        self._emit(episode.result(step, outcome, verdict))
        if self._rules is not None:
            told = made if outcome.value is not None else replace(made, result=outcome.message)
            self.note_violations(told)
        self._k += 1
        if outcome.status == CallStatus.FAULT:
            self._count_fault(outcome)
        return outcome

    def _count_fault(self, outcome: Outcome) -> None:
        """Wait for a lost rig, and end the episode after too many faults that are not the agent's."""
        if self._stop_button.pressed or self._deadline.left <= 0:
            return
        if outcome.lost:
            with self._signals.interruptible():
                self._session.require_answer()
        if not self._stop_button.pressed and self._deadline.left > 0:
            self.disturbance.take(outcome.status, outcome.code)
        if self.disturbance.faults >= MOST:
            raise RigError(
                f"rig {self._session.config.name}: {MOST} calls failed by no fault of the agent, the last: "
                f"{outcome.code}: {outcome.message}"
            )

    def note_violations(self, call: Call | None = None) -> None:
        """Log what a call that ended violates; without one, what is violated as the episode ends."""
        if self._rules is not None:
            for one in self._rules.end() if call is None else self._rules.take(call):
                self._session.recorder.note(RULE, logged_finding(one, self.guard.mode))

    def _ask_agent(self, ask: Callable[[], T]) -> T:
        try:
            with self._signals.interruptible():
                return ask()
        except CancelledError:
            raise
        except BackendError as error:
            raise AgentError(str(error)) from error
        except Exception as error:
            raise AgentError(f"the agent failed: {type(error).__name__}: {error}") from error
