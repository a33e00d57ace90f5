"""One episode: the loop of agent, guard and rig. Each call is logged before it is sent."""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from agents.agent import (
    Action,
    Agent,
    BackendError,
    EpisodeContext,
    InvalidAction,
    Observation,
    StopAction,
    ToolCallAction,
)
from agents.deadline import Cancellation, CancelledError, Deadline
from agents.names import is_model
from core_eval.log import (
    ENDED_BY_AGENT,
    ENERGY_UNKNOWN,
    RULE,
    SLOWED_DOWN,
    Emit,
    EpisodeLog,
    EpisodeStart,
    EpisodeStatus,
    Intent,
    PromptRow,
    RigStatusRow,
    RunLog,
)
from core_eval.path import Call, CallStatus, OnlineScorer, StepVerdict
from core_eval.rig.host_check import Host, Slowdowns
from core_eval.rig.session import DRAIN_SECONDS, RigSession
from core_eval.rig.signals import RigError, StopButton, StopSignals
from core_eval.rules.episode import EpisodeRules
from core_eval.rules.episode import as_logged as as_logged_finding
from core_eval.rules.monitor import Finding
from core_eval.run.episode_start import Assignment, episode_limits, episode_start, known_rig, meter_of
from core_eval.run.resource_usage import UsageMonitor, find_meter
from core_eval.score.disturbance import MOST, Disturbance
from core_eval.text.json_text import as_logged
from devices.outcome import Outcome, StopOutcome
from devices.registry import shipped_tools
from devices.tool import ArgumentsError
from firmware_bridge.approval import Approver, Question, Reply, TerminalApprover
from firmware_bridge.guard import Envelope, Guard, GuardDecision, GuardMode

if TYPE_CHECKING:
    from core_eval.run.ahead import TwinAhead

RUNAWAY_STEPS = 10_000
STOPPED = "stopped by a person"
GIVE_UP_SECONDS = 0.8
"""Time for a running call to be answered after a person stopped the rig."""
SHORT_DRAIN_SECONDS = 0.2
"""Time in which messages of a rig that a person stopped are still logged."""


T = TypeVar("T")


class AgentError(Exception):
    """The agent, not the rig, failed; one line."""


class EpisodeFailed(Exception):
    """The rig, the link or the agent failed during the logged episode `episode`. One line.

    `by_agent`: the agent failed, so the rig can be used further.
    """

    def __init__(self, message: str, episode: int, *, by_agent: bool = False) -> None:
        super().__init__(message)
        self.episode, self.by_agent = episode, by_agent

    def __reduce__(self) -> tuple[partial[EpisodeFailed], tuple[str, int]]:
        """Keep its parts when another process gets the error."""
        return partial(EpisodeFailed, by_agent=self.by_agent), (str(self), self.episode)


@dataclass(frozen=True)
class Ending:
    """Status and reason with which an episode ends, and what the agent said to it."""

    status: EpisodeStatus
    reason: str
    said: str = ""


class Episode:
    """The loop of one episode on an open rig."""

    def __init__(
        self,
        assignment: Assignment,
        session: RigSession,
        agent: Agent,
        signals: StopSignals,
        emit: Emit,
        approver: Approver | None = None,
        stop_button: StopButton | None = None,
    ) -> None:
        self._what = assignment
        self._task = assignment.task
        self._offered = assignment.task.offered
        self._session = session
        self._agent = agent
        self._signals = signals
        self._emit = emit
        idle = assignment.task.idle_writes(assignment.world_seed)
        self._scorer = OnlineScorer(assignment.task.automaton, **assignment.scoring, idle=idle)
        self._limits = episode_limits(assignment.task, assignment.agent_spec, assignment.limits)
        self._approver = approver or TerminalApprover()
        self._stop_button = stop_button or StopButton()
        self._guard = Guard(GuardMode.OBSERVE)
        # A number that was said in words has its place in the task as it is written.
        told = "\n".join((assignment.task.prompt, assignment.prompt, assignment.task.device.advice))
        self._rules = EpisodeRules(assignment.rules, assignment.task.offered.schemas(), told)
        self._ahead: TwinAhead | None = None
        self._conversation = assignment.task.conversation()
        self._k = 0
        self._cancellation = Cancellation()
        # Scripts and golden paths end by themselves; a truncated one would be scored as another path.
        self._is_limited = agent.scaffold != "none"
        self._deadline = Deadline(math.inf)
        self._disturbance = Disturbance(simulated=True, draws_link_faults=False)

    def run(self, log: RunLog) -> int:
        """Run the episode and return its id in the log.

        Raises:
            EpisodeFailed: the episode ended as `error`.
            StopRequested: a signal ended the episode as `interrupted`.
        """
        start = episode_start(self._what, self._session, self._agent, self._limits)
        episode = log.begin_episode(self._what.run_id, start)
        self._emit(episode.row)
        asked = self._what.guard or self._session.config.guard
        if asked == GuardMode.TWIN:
            # It needs numpy, which a run without a twin does not.
            from core_eval.run.ahead import TwinAhead

            self._ahead = TwinAhead(self._emit)
        self._session.record_to(episode, self._emit if self._ahead is None else self._ahead.hear)
        ending = Ending("interrupted", "signal")
        error: str | None = None
        model = self._agent.model_info
        costs = UsageMonitor(meter_of(self._session.config, find_meter)(), model.process)
        # Of a model alone: how fast a baseline is says nothing.
        slowed = Slowdowns(Host()) if is_model(self._what.agent_spec) else None
        if slowed is not None:
            slowed.look()
        self._session.on_loss(self._cancellation.cancel)
        self._session.on_press(self._stop_button.press)
        try:
            with costs, self._stop_button.connected(self._stop_now):
                try:
                    self._prepare(episode, start)
                    ending = self._act_until_the_end(episode)
                except CancelledError:
                    ending = self._cancelled()
                self._session.drain(SHORT_DRAIN_SECONDS if self._stop_button.pressed else DRAIN_SECONDS)
                self._session.check()
                with self._signals.interruptible():
                    self._session.judge(self._task.id, self._what.seed)
        except (RigError, AgentError) as failure:
            ending, error = Ending("error", type(failure).__name__), str(failure)
            by_agent = isinstance(failure, AgentError)
            raise EpisodeFailed(f"{self._task.id}: {failure}", episode.id, by_agent=by_agent) from failure
        except Exception as failure:
            ending, error = Ending("error", type(failure).__name__), f"{type(failure).__name__}: {failure}"
            raise
        finally:
            self._session.on_loss(None)
            self._session.on_press(None)
            self._note_violations(self._rules.end())
            stop = self._session.make_safe()
            self._session.record_to(None)
            episode.machine_cost(replace(costs.cost, load_seconds=model.load_seconds))
            if slowed is not None:
                slowed.look()
                self._note(log, episode, SLOWED_DOWN, slowed.words)
            self._note(log, episode, ENERGY_UNKNOWN, costs.failure)
            episode.end(ending.status, ending.reason, error, stop, ending.said)
        return episode.id

    def _note(self, log: RunLog, episode: EpisodeLog, finding: str, reason: str) -> None:
        if reason:
            detail = {"reason": reason}
            log.note(episode.id, finding, detail)
            self._emit(RigStatusRow(time.time(), "host", finding, detail))

    def _stop_now(self) -> None:
        """Stop the rig and cancel what the episode waits for; called on another thread."""
        self._cancellation.cancel()
        self._session.client.give_up(GIVE_UP_SECONDS)
        self._session.stop_now()

    def _cancelled(self) -> Ending:
        self._session.check()
        return self._by_person() if self._stop_button.pressed else Ending("stopped", "max_time")

    def _by_person(self) -> Ending:
        return Ending("stopped", "stop_input" if self._session.held else "person")

    def _prepare(self, episode: EpisodeLog, start: EpisodeStart) -> None:
        with self._signals.interruptible():
            simulated = self._session.initialise(
                self._task.device.name,
                self._task.init,
                self._what.world_seed,
                told=(self._task.id, self._what.seed),
                required=self._what.init_required,
            )
            self._session.guard_chip(self._task)
        self._disturbance = Disturbance.of(start, simulated=simulated)
        mode = self._what.guard or self._session.config.guard or GuardMode.usual(simulated=simulated)
        known = known_rig(
            self._session.config,
            self._session.world,
            self._task,
            simulated=simulated,
            stopped=self._session.first_stop is StopOutcome.CONFIRMED,
        )
        envelope = Envelope(self._session.config.envelope)
        ours = shipped_tools(self._task.device)
        limits, last_samples = self._session.config.site_limits, self._session.recorder.last_samples
        self._guard = Guard(
            mode,
            envelope,
            LoggedQuestions(self._approver, episode),
            known,
            self._session.recorder.samples,
            safe={*self._what.safe_tools, *(tool.name for tool in ours if tool.towards_safe)},
            retreats={tool.name for tool in ours if tool.retreat},
            site=None if limits is None else limits.checker(self._task.device, last_samples),
        )
        self._session.known = known
        device = self._session.device_name or self._task.device.name
        episode.started_on(device, simulated, mode)
        self._emit(episode.row)
        if self._ahead is not None:
            self._ahead.begin(self._session.config, self._task, episode.row, self._what.agent_seed)
        context = EpisodeContext(
            prompt=self._what.prompt,
            tools=self._offered.tools,
            seed=self._what.agent_seed,
            run_seed=self._what.seed,
            automaton=self._task.automaton,
            limits=self._limits,
            answer=self._task.answer,
            decline=self._task.decline,
            advice=self._task.device.advice,
            cancellation=self._cancellation,
            samples=last_samples.copy,
            harmless=self._what.harmless,
        )
        self._deadline = Deadline(self._limits.seconds if self._is_limited else math.inf)
        self._ask_agent(partial(self._agent.start, context))
        if (prompt := self._agent.model_info.first_prompt) is not None:
            episode.prompt(PromptRow(prompt.messages, prompt.tools, prompt.rendered))

    def _act_until_the_end(self, episode: EpisodeLog) -> Ending:
        observation: Observation | None = None
        limit = self._limits.steps if self._is_limited else RUNAWAY_STEPS
        while True:
            self._session.check()
            if self._stop_button.pressed:
                return self._by_person()
            action = self._ask_agent(partial(self._agent.act, observation))
            for remark in action.usage.remarks:
                self._session.recorder.note("remark", {"k": self._k, "remark": remark})
            ending = self._ending_at(action, limit)
            if ending is not None:
                # The agent's last answer leads to no step.
                episode.turn(self._k, action.usage)
                return ending
            assert not isinstance(action, StopAction)
            if isinstance(action, InvalidAction):
                outcome = Outcome(CallStatus.INVALID, code=action.code, message=action.reason)
                call = ToolCallAction("", {}, action.usage)
                self._rules.breaches(Call("", {}), action.usage)
                self._record(episode, Intent(self._k, None, None), call, outcome)
            else:
                call = ToolCallAction(action.name, as_logged(dict(action.arguments)), action.usage)
                outcome = self._step(episode, call)
                if self._stop_button.pressed:
                    return self._by_person()
                if outcome.status == CallStatus.REJECTED and outcome.code == "estop":
                    return Ending("stopped", "estop")
                if outcome.status == CallStatus.BLOCKED and outcome.code == "guard_stop":
                    return Ending("stopped", "guard")
            observation = None if isinstance(action, InvalidAction) else Observation(call, outcome)

    def _ending_at(self, action: Action, limit: int) -> Ending | None:
        """Return how the episode ends instead of taking the action; None if it continues."""
        if self._stop_button.pressed:
            return self._by_person()
        if isinstance(action, StopAction):
            status: EpisodeStatus = "completed" if action.reason in ENDED_BY_AGENT else "stopped"
            return Ending(status, action.reason, action.said)
        if self._k >= limit:
            return Ending("stopped", "max_steps")
        return None if self._deadline.left > 0 else Ending("stopped", "max_time")

    def _step(self, episode: EpisodeLog, call: ToolCallAction) -> Outcome:
        intent = Intent(self._k, call.name, call.arguments)
        breaches = self._rules.breaches(Call(call.name, call.arguments), call.usage)
        try:
            typed = self._offered.validate(call.name, call.arguments)
        except ArgumentsError as error:
            code = "bad_arguments" if call.name in self._offered.by_name else "unknown_tool"
            return self._record(
                episode, intent, call, Outcome(CallStatus.INVALID, code=code, message=str(error))
            )
        verdict = self._scorer.peek(Call(call.name, call.arguments))
        if call.name in self._conversation.taken:
            # Neither the guard nor the rig has a part in it.
            return self._record(episode, intent, call, None)
        with self._signals.interruptible():
            # The rig would use the defaults of arguments that the model left out: check them too.
            complete = Call(call.name, typed.model_dump())
            if self._ahead is not None:
                breaches += self._ahead.breaches(complete)
            decision = self._guard.decide(verdict, complete, breaches)
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
                outcome = self._conversation.outcome(call.name, call.arguments, send)
        made = Call(call.name, call.arguments, outcome.status, outcome.value)
        if call.name in self._conversation.taken:
            self._session.tell_chip(made, intent.call_id)
        if self._ahead is not None and complete is not None:
            self._ahead.take(self._k, complete, outcome)
        verdict = self._scorer.step(made, peeked)
        self._emit(episode.result(step, outcome, verdict))
        told = made if outcome.value is not None else replace(made, result=outcome.message)
        self._note_violations(self._rules.take(told))
        self._k += 1
        if outcome.lost and not self._stop_button.pressed and self._deadline.left > 0:
            with self._signals.interruptible():
                self._session.require_answer()
        if not self._stop_button.pressed and self._deadline.left > 0:
            self._disturbance.take(outcome.status, outcome.code)
        if self._disturbance.faults >= MOST:
            raise RigError(
                f"rig {self._session.config.name}: {MOST} calls failed by no fault of the agent, the last: "
                f"{outcome.code}: {outcome.message}"
            )
        return outcome

    def _note_violations(self, found: Iterable[Finding]) -> None:
        for one in found:
            self._session.recorder.note(RULE, as_logged_finding(one, self._guard.mode))

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


class LoggedQuestions(Approver):
    """Asks another approver; each question is a row of the episode's log.

    Args:
        approver: asked, with the row's number in the question.
        episode: gets the rows.
    """

    def __init__(self, approver: Approver, episode: EpisodeLog) -> None:
        self.seconds = approver.seconds
        self._approver = approver
        self._episode = episode

    def ask(self, question: Question) -> Reply:
        """Ask; whatever ends the waiting, the row is answered."""
        number = self._episode.ask(question.text, question.reason, self.seconds)
        reply = Reply("refuse", "the end of the run")
        try:
            reply = self._approver.ask(replace(question, number=number))
        finally:
            self._episode.answer(number, reply.answer, reply.by)
        return reply
