"""One episode: its start, its loop, and its end. However it ends, the rig is stopped and the log says so."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial

from agents.agent import Agent, EpisodeContext
from agents.deadline import Cancellation, CancelledError
from agents.names import is_model
from core_eval.log import (
    ENERGY_UNKNOWN,
    SLOWED_DOWN,
    Emit,
    EpisodeLog,
    EpisodeStart,
    PromptRow,
    RigStatusRow,
    RunLog,
)
from core_eval.rig.host_check import Host, Slowdowns
from core_eval.rig.known_rig import known_rig
from core_eval.rig.session import DRAIN_SECONDS, RigSession
from core_eval.rig.signals import RigError, StopButton, StopSignals
from core_eval.run.episode_start import Assignment, episode_limits, episode_start, meter_of
from core_eval.run.loop import AgentError, Ending, Loop
from core_eval.run.resource_usage import UsageMonitor, find_meter
from core_eval.score.disturbance import Disturbance
from devices.outcome import StopOutcome
from devices.registry import shipped_tools
from firmware_bridge.approval import Approver, Question, Reply, TerminalApprover
from firmware_bridge.guard import Envelope, Guard, GuardMode

GIVE_UP_SECONDS = 0.8
"""Time for a running call to be answered after a person stopped the rig."""
SHORT_DRAIN_SECONDS = 0.2
"""Time in which messages of a rig that a person stopped are still logged."""


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


class Episode:
    """One episode on an open rig."""

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
        self._session = session
        self._agent = agent
        self._signals = signals
        self._emit = emit
        self._limits = episode_limits(assignment.task, assignment.agent_spec, assignment.limits)
        self._approver = approver or TerminalApprover()
        self._stop_button = stop_button or StopButton()
        self._cancellation = Cancellation()
        self._loop = Loop(assignment, session, agent, signals, emit, self._stop_button, self._limits)

    def run(self, log: RunLog) -> int:
        """Run the episode and return its id in the log.

        Raises:
            EpisodeFailed: the episode ended as `error`.
            StopRequested: a signal ended the episode as `interrupted`.
        """
        start = episode_start(self._what, self._session.config, self._agent, self._limits)
        episode = log.begin_episode(self._what.run_id, start)
        self._emit(episode.row)
        ahead = None
        if (self._what.guard or self._session.config.guard) == GuardMode.TWIN:
            # It needs numpy, which a run without a twin does not.
            from core_eval.run.ahead import TwinAhead

            ahead = TwinAhead(self._emit)
        self._loop.ahead = ahead
        self._session.record_to(episode, self._emit if ahead is None else ahead.hear)
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
                    ending = self._loop.run(episode)
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
            self._loop.note_violations()
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
        return self._loop.by_person() if self._stop_button.pressed else Ending("stopped", "max_time")

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
        self._loop.disturbance = Disturbance.of(start, simulated=simulated)
        mode = self._what.guard or self._session.config.guard or GuardMode.usual(simulated=simulated)
        known = known_rig(
            self._session.config,
            self._session.world,
            self._task,
            simulated=simulated,
            stopped=self._session.first_stop is StopOutcome.CONFIRMED,
        )
        envelope = self._session.config.envelope
        ours = shipped_tools(self._task.device)
        limits, last_samples = self._session.config.site_limits, self._session.recorder.last_samples
        self._loop.guard = Guard(
            mode,
            Envelope(envelope) if envelope else None,
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
        if self._loop.ahead is not None:
            self._loop.ahead.begin(self._session.config, self._task, episode.row, self._what.agent_seed)
        context = EpisodeContext(
            prompt=self._what.prompt,
            tools=self._task.offered.tools,
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
        self._loop.start(context)
        if (prompt := self._agent.model_info.first_prompt) is not None:
            episode.prompt(PromptRow(prompt.messages, prompt.tools, prompt.rendered))


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
