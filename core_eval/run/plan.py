"""A run: the episodes of a plan, one after the other, on rigs that stay open between them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from agents.agent import Agent, AgentSpecError, BackendError, EpisodeContext
from agents.names import is_model
from agents.registry import model_options
from core_eval.log import Emit, EpisodePlanned, LogReader, RunLog, ignore
from core_eval.rig.opening import OpenRigs
from core_eval.rig.session import RigSession
from core_eval.rig.signals import RigError, StopButton, StoppedByPerson, StopSignals
from core_eval.run.config import Cell, RunConfig
from core_eval.run.episode import Episode, EpisodeFailed
from core_eval.run.episode_start import Assignment, episode_limits, meter_of
from core_eval.run.pace import Pace
from core_eval.run.parts import Parts, load_parts, task_on_rig
from core_eval.run.provenance import host_info, package_versions
from core_eval.run.resource_usage import find_meter, idle_power
from core_eval.score.disturbance import MOST
from core_eval.score.scoring import score_episode, write_score
from firmware_bridge.approval import Approver

SETTLED = 5
"""Episodes after which all that a run keeps has been loaded."""
FINISHED = frozenset({"completed", "stopped"})


class Run:
    """Runs the episodes of a plan and writes them to a log.

    Attributes:
        failed: the names of the agents that failed, and how, where the run went on with the others. Their
            remaining episodes were not run; the run has not ended then, and can be resumed.
    """

    def __init__(
        self,
        config: RunConfig,
        parts: Parts,
        log: RunLog,
        emit: Emit,
        approver: Approver | None = None,
        stop_button: StopButton | None = None,
    ) -> None:
        self.config = config.model_copy(update={"streams": parts.streams})
        self.run_id: int | None = None
        self._names = config.names
        self._parts = parts
        self._log = log
        self._emit = emit
        self._approver = approver
        self._stop_button = stop_button or StopButton()
        self._signals = StopSignals()
        self._agent: str | None = None
        self._disturbed_in_a_row = 0
        self.failed: dict[str, str] = {}

    @classmethod
    def of(
        cls,
        config: RunConfig,
        log: RunLog,
        emit: Emit = ignore,
        agents: Mapping[str, Agent] | None = None,
    ) -> Run:
        """Return the run of a plan, its parts loaded, with these agents in place of those of their names.

        Raises:
            ConfigError, AgentSpecError: a part cannot be loaded.
        """
        return cls(config, load_parts(config, agents), log, emit)

    def start(self) -> int:
        """Run the whole plan and return the run's id. The log has the run from its first open rig on.

        Raises:
            EpisodeFailed, RigError: a rig or a link failed, or an agent, unless the run goes on without it;
                the run can be resumed.
            StopRequested: a signal ended it; the run can be resumed.
            StoppedByPerson: the stop button was pressed; the run can be resumed.
            ConfigError: no initial state could be drawn; the log has no run then.
        """
        self._run_all(done=frozenset())
        return self.logged()

    def resume(self, run_id: int, *, repeat: bool = True) -> None:
        """Run the remaining episodes of an interrupted run; raises as `start`.

        With `repeat` also those that had begun and were cut.
        """
        self._run_all(self.reopen(run_id, repeat=repeat))

    def take(self, run_id: int, numbers: Iterable[int]) -> None:
        """Run episodes of a logged run as their numbers come; the run neither begins nor ends by it."""
        self.run_id = run_id
        plan = self.config.plan()

        def drawn() -> Iterator[int]:
            for number in numbers:
                self._draw([plan[number]])
                yield number

        self._run_episodes(drawn(), done=frozenset())

    def reopen(self, run_id: int, *, repeat: bool = True) -> frozenset[int]:
        """Score what an interrupted run left unscored; return the numbers of episodes that are not run.

        They are those of finished episodes; without `repeat`, of all that had begun.
        """
        self.run_id = run_id
        with LogReader(self._log.path) as reader:
            begun = reader.episodes(run_id)
        episodes = [episode for episode in begun if episode.status in FINISHED]
        for episode in episodes:
            if not episode.scores:
                self._score(episode.id)
        return frozenset(episode.number for episode in (episodes if repeat else begun))

    def end(self) -> None:
        """Mark the run as complete, unless an agent has failed; raises `BackendError` if none has begun."""
        if self.run_id is None and self.failed:
            raise BackendError("; ".join(self.failed.values()))
        if not self.failed:
            self._log.end_run(self.logged())

    def _run_all(self, done: frozenset[int]) -> None:
        left = [planned for planned in self.config.plan() if planned[0] not in done]
        self._draw(left)
        self._run_episodes((number for number, _, _ in left), done)
        self.end()

    def _draw(self, planned: Sequence[tuple[int, Cell, int]]) -> None:
        if self._parts.varied is not None:
            self._parts.varied.draw([(cell, seed) for _, cell, seed in planned])

    def logged(self) -> int:
        """Return the run's id; the log gets the run where it does not have it yet."""
        if self.run_id is None:
            host = host_info()
            # Before a model is loaded; a baseline's energy says nothing.
            model = next((cell for cell in self.config.cells if is_model(cell.agent)), None)
            if model is not None:
                make = meter_of(self._parts.rigs[model.rig], find_meter)
                if (idle := idle_power(make)) is not None:
                    host["idle"] = dict(idle)
            self.run_id = self._log.begin_run(self.config.for_the_log(), package_versions(), host)
        return self.run_id

    def _run_episodes(self, numbers: Iterator[int], done: frozenset[int]) -> None:
        """Run the episodes of a plan as their numbers come; `done`: what was run before."""
        with ExitStack() as stack:
            # Entered first, so that signals are still deferred while rigs and agents are closed.
            signals = stack.enter_context(self._signals)
            for agent in self._parts.agents.values():
                stack.callback(agent.close)
            rigs = stack.enter_context(OpenRigs(self._parts.rigs, self.config.call_timeout))
            episode_ended = stack.enter_context(_freed_early())
            plan = self.config.plan()
            pace = Pace()
            while True:
                with signals.interruptible():
                    number = next(numbers, None)
                if number is None:
                    break
                _, cell, seed = plan[number]
                if self._names[cell.agent] in self.failed:
                    continue
                if self._stop_button.pressed:
                    raise StoppedByPerson
                if cell.agent != self._agent and not self._is_ready(cell.agent, done):
                    continue
                with signals.interruptible():
                    # Before the rig: its first reading may take a while.
                    meter_of(self._parts.rigs[cell.rig], find_meter)
                    rigs.session(cell.rig)
                left = [one.agent for other, one, _ in plan[number:] if other not in done]
                self._emit(EpisodePlanned(number + 1, len(plan), pace.seconds(left)))
                try:
                    with pace.measured(cell.agent):
                        self._run_undisturbed(number, cell, seed, rigs)
                except EpisodeFailed as failure:
                    if not (failure.by_agent and self.config.keeps_going):
                        raise
                    self.failed[self._names[cell.agent]] = str(failure)
                    self._show(failure.episode)
                episode_ended()
            if self._stop_button.pressed:
                # Raised within the context: after a person's stop no rig may move home.
                raise StoppedByPerson

    def _is_ready(self, agent: str, done: frozenset[int]) -> bool:
        """Change the agent; return whether it can begin."""
        try:
            with self._signals.interruptible():
                self._change_agent(agent, done)
        except (AgentSpecError, BackendError) as error:
            if not self.config.keeps_going:
                raise
            self.failed[self._names[agent]] = str(error)
            return False
        return True

    def _change_agent(self, spec: str, done: frozenset[int]) -> None:
        """Free the model of the last agent, and check that this one can begin each of its episodes."""
        agents = self._parts.agents
        if self._agent is not None and model_options(self._agent) is not None:
            agents[self._agent].close()
        self._agent = spec
        left = (cell for number, cell, _ in self.config.plan() if number not in done and cell.agent == spec)
        for cell in dict.fromkeys(left):
            task = task_on_rig(self._parts.tasks[cell.task], self._parts.rigs[cell.rig])
            limits = episode_limits(task, spec, self.config.limits)
            device = task.offered
            context = EpisodeContext(task.prompt, device.tools, limits=limits, advice=device.advice)
            agents[spec].check(context)

    def _run_undisturbed(self, number: int, cell: Cell, seed: int, rigs: OpenRigs) -> None:
        """Run an episode, and again with another seed where it was disturbed and retries are left.

        Raises:
            EpisodeFailed: as `Episode.run`, by the agent, or in the last try.
            RigError: too many episodes in a row were disturbed.
        """
        for retry in range(self.config.retries + 1):
            # Seeds that no other episode of the cell has.
            own_seed = seed + retry * self.config.episodes
            if retry and self._parts.varied is not None:
                self._parts.varied.draw([(cell, own_seed)])
            last = retry == self.config.retries
            try:
                with self._signals.interruptible():
                    session = rigs.session(cell.rig)
                disturbed = self._run_episode(self.logged(), number, cell, own_seed, session)
            except EpisodeFailed as failure:
                if failure.by_agent or last:
                    raise
                self._show(failure.episode)
                # The next try opens the rig anew.
                rigs.close_failed(cell.rig, failure)
                disturbed = True
            self._disturbed_in_a_row = self._disturbed_in_a_row + 1 if disturbed else 0
            if self._disturbed_in_a_row >= MOST:
                raise RigError(
                    f"{MOST} episodes in a row were disturbed by faults of rig, link or host: see "
                    f"`pathrig show {self._log.path}`; check the rig, then continue with --resume"
                )
            if not disturbed:
                return

    def _run_episode(self, run_id: int, number: int, cell: Cell, seed: int, session: RigSession) -> bool:
        """Run and score one episode; return whether it was disturbed."""
        varied = self._parts.varied
        drawn = None if varied is None else varied.start(cell, seed)
        task = self._parts.tasks[cell.task] if drawn is None else drawn.task
        task = task_on_rig(task, session.config)
        assignment = Assignment(
            run_id=run_id,
            number=number,
            seed=seed,
            task=task,
            agent_spec=cell.agent,
            name=self._names[cell.agent],
            limits=self.config.limits,
            scoring=self.config.scoring,
            guard=self.config.guard,
            safe_tools=self.config.safe_tools,
            rules=self.config.rules,
            init_required=self.config.init is not None or self.config.draws,
            hazards=None if drawn is None else drawn.hazards,
            harmless=None if drawn is None else drawn.harmless,
            streams=self.config.streams,
        )
        agent = self._parts.agents[cell.agent]
        episode = Episode(
            assignment, session, agent, self._signals, self._emit, self._approver, self._stop_button
        )
        try:
            episode_id = episode.run(self._log)
        except EpisodeFailed as failure:
            self._score(failure.episode)
            raise
        disturbed = self._score(episode_id)
        self._show(episode_id)
        return disturbed

    def _show(self, episode_id: int) -> None:
        with LogReader(self._log.path) as reader:
            self._emit(reader.episode(episode_id))

    def _score(self, episode_id: int) -> bool:
        """Score an episode; return whether it was disturbed."""
        # A signal leaves a complete but unscored episode here; `resume` scores it.
        with LogReader(self._log.path) as reader, self._signals.interruptible():
            result = score_episode(reader, episode_id)
        if result is not None:
            write_score(self._log, episode_id, result)
            for what, why in result.findings.items():
                self._log.note(episode_id, what, {"reason": why})
        return result is not None and bool(result.scores["disturbed"])


@contextmanager
def _freed_early() -> Iterator[Callable[[], None]]:
    """Within the context, free the garbage of each episode; the value is called after each.

    An episode leaves simulators, which are cycles. Python looks for those among all objects only when new
    ones are a quarter of the old, many episodes later. So what is old is set aside, and the look is quick.
    """
    episodes, set_aside_before = 0, True

    def ended() -> None:
        nonlocal episodes, set_aside_before
        episodes += 1
        if episodes >= SETTLED:
            gc.collect()
        if episodes == SETTLED:
            set_aside_before = gc.get_freeze_count() > 0
            gc.freeze()

    try:
        yield ended
    finally:
        # The command line sets its modules aside, too.
        if not set_aside_before:
            gc.unfreeze()
