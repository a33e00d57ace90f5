"""A run: the episodes of a plan, one after the other, on rigs that stay open between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass
from types import TracebackType

from agents.agent import Agent, EpisodeContext
from agents.errors import AgentSpecError, BackendError
from agents.interruptible_agent import InterruptibleAgent
from agents.registry import agent_maker, model_options
from configs.envelope_names import envelope_fault
from configs.errors import ConfigError
from configs.rigs_loader import RigConfig, device_of, fitted_tools, load_rig
from configs.tasks_loader import Task, task_builder
from configs.worlds_loader import load_world, merged_state
from configs.yaml_file import nearest
from core_eval.log import LogReader, RunLog
from core_eval.log.events import Emit, EpisodeEnded, EpisodePlanned
from core_eval.rig.known_rig import world_of_rig
from core_eval.rig.session import RigSession, open_rig
from core_eval.rig.signals import StopSignals
from core_eval.rig.simulator_process import RigError
from core_eval.rig.stop_button import StopButton, StoppedByPerson
from core_eval.run.config import Cell, RunConfig
from core_eval.run.episode import Episode, EpisodeFailed
from core_eval.run.episode_start import Assignment, episode_limits
from core_eval.run.logged_calls import read_calls
from core_eval.run.pace import Pace
from core_eval.run.provenance import host_info, package_versions
from core_eval.run.varied_start import VariedStarts
from core_eval.score.disturbance import MOST
from core_eval.score.scoring import score_episode, write_score
from core_eval.verify.static_checks import missing_tools
from devices.device_type import an
from firmware_bridge.approval import Approver
from firmware_bridge.links import link_type

FINISHED = frozenset({"completed", "stopped"})


@dataclass(frozen=True)
class Parts:
    """The tasks, rigs and agents of a plan, by their references.

    Attributes:
        streams: the version of the random streams; a rig that is a recording may need an older one.
        varied: the tasks with drawn initial states, for `--vary`.
    """

    tasks: Mapping[str, Task]
    rigs: Mapping[str, RigConfig]
    agents: Mapping[str, Agent]
    streams: int
    varied: VariedStarts | None = None


def load_parts(config: RunConfig, agents: Mapping[str, Agent] | None = None) -> Parts:
    """Load every task, rig and agent of a plan, and check that they fit; `agents` are made already.

    Raises:
        ConfigError, AgentSpecError: one of them is invalid, or they do not fit.
    """
    builds = {ref: task_builder(ref) for ref in _distinct(cell.task for cell in config.cells)}
    tasks = {ref: build(config.init or {}) for ref, build in builds.items()}
    rigs = {ref: load_rig(ref) for ref in _distinct(cell.rig for cell in config.cells)}
    for cell in config.cells:
        task, rig = tasks[cell.task], rigs[cell.rig]
        device = None if rig.device is None else device_of(rig)
        if device is not None and device.name != task.device.name:
            raise ConfigError(
                f"task {task.id} is for {an(task.device.name)}, but rig {rig.name} is {an(device.name)}"
            )
        _check_fitted(task, rig)
        # The rig loader checks it only where the rig's file names a device.
        if (fault := envelope_fault(rig.envelope, task.device)) is not None:
            raise ConfigError(fault[1], file=cell.rig, key=".".join(fault[0]))
        if rig.home is not None and rig.home not in task.device.by_name:
            there = nearest(task.device.by_name, rig.home)
            raise ConfigError(
                f"a {task.device.name} has no tool {rig.home!r}; there are {there}", file=cell.rig, key="home"
            )
        if rig.twin is not None and load_world(rig.twin.world).device != task.device:
            raise ConfigError(
                f"task {task.id} is for {an(task.device.name)}, "
                f"but twin.world of rig {rig.name} is {rig.twin.world}"
            )
        if rig.world is not None:
            merged_state(load_world(rig.world), task.init)
    for name in config.safe_tools:
        if not any(name in task.device.by_name for task in tasks.values()):
            raise ConfigError(f"--safe-tool {name}: no task of this run has that tool")
    made = agents or {}
    interruptible = {
        spec: InterruptibleAgent(made[spec] if spec in made else agent_maker(spec, read_calls))
        for spec in _distinct(cell.agent for cell in config.cells)
    }
    kinds = ((link_type(rig.url), rig.url) for rig in rigs.values())
    streams = min([config.streams, *(kind.streams(url) for kind, url in kinds if kind is not None)])
    varied = VariedStarts(builds, tasks, rigs, config.init or {}, streams) if config.vary else None
    return Parts(tasks, rigs, interruptible, streams, varied)


def _check_fitted(task: Task, rig: RigConfig) -> None:
    tools = fitted_tools(rig)
    lacking = () if tools is None else missing_tools(task.automaton, tools)
    if lacking:
        raise ConfigError(
            f"task {task.id} cannot be done on rig {rig.name}: its hardware has no {', '.join(lacking)}"
        )


def task_on_rig(task: Task, rig: RigConfig) -> Task:
    """Return a task with the tools of a rig's hardware, whose texts state the facts of its world or site.

    Raises:
        ConfigError: the task's overrides do not fit that world.
    """
    if rig.world is not None:
        task = task.in_world(load_world(rig.world))
    elif (site := world_of_rig(rig, None)) is not None:
        task = task.at_site(site)
    return task.on_hardware(fitted_tools(rig))


class _OpenRigs(AbstractContextManager["_OpenRigs"]):
    """The rigs of a run, each opened when it is first used."""

    def __init__(self, rigs: Mapping[str, RigConfig], call_timeout: float) -> None:
        self._rigs, self._call_timeout = rigs, call_timeout
        self._open: dict[str, tuple[RigSession, ExitStack]] = {}
        self._stack = ExitStack()

    def session(self, rig: str) -> RigSession:
        """Return the session of a rig, opened if it is not."""
        if rig not in self._open:
            own = self._stack.enter_context(ExitStack())
            session = own.enter_context(open_rig(self._rigs[rig], call_timeout=self._call_timeout))
            self._open[rig] = session, own
        return self._open[rig][0]

    def close_failed(self, rig: str, failure: Exception) -> None:
        """Close a rig after a failure: it is stopped, and does not move home."""
        _, own = self._open.pop(rig)
        with suppress(type(failure)):
            own.__exit__(type(failure), failure, failure.__traceback__)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)


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

    def start(self) -> int:
        """Run the whole plan and return the run's id. The log has the run from its first open rig on.

        Raises:
            EpisodeFailed, RigError: a rig or a link failed, or an agent, unless the run goes on without it;
                the run can be resumed.
            StopRequested: a signal ended it; the run can be resumed.
            StoppedByPerson: the stop button was pressed; the run can be resumed.
            ConfigError: no initial state could be drawn; the log has no run then.
        """
        self._draw(done=frozenset())
        self._run_episodes(done=frozenset())
        return self._logged_run()

    def resume(self, run_id: int) -> None:
        """Run the remaining episodes of an interrupted run; raises as `start`."""
        self.run_id = run_id
        with LogReader(self._log.path) as reader:
            episodes = [episode for episode in reader.episodes(run_id) if episode.status in FINISHED]
        for episode in episodes:
            if not episode.scores:
                self._score(episode.id)
        done = frozenset(episode.number for episode in episodes)
        self._draw(done)
        self._run_episodes(done)

    def _draw(self, done: frozenset[int]) -> None:
        if self._parts.varied is not None:
            left = [(cell, seed) for number, cell, seed in self.config.plan() if number not in done]
            self._parts.varied.draw(left)

    def _logged_run(self) -> int:
        if self.run_id is None:
            self.run_id = self._log.begin_run(self.config.for_the_log(), package_versions(), host_info())
        return self.run_id

    def _run_episodes(self, done: frozenset[int]) -> None:
        with ExitStack() as stack:
            # Entered first, so that signals are still deferred while rigs and agents are closed.
            signals = stack.enter_context(self._signals)
            for agent in self._parts.agents.values():
                stack.callback(agent.close)
            rigs = stack.enter_context(_OpenRigs(self._parts.rigs, self.config.call_timeout))
            plan = self.config.plan()
            pace = Pace()
            for number, cell, seed in plan:
                if number in done or self._names[cell.agent] in self.failed:
                    continue
                signals.check()
                if self._stop_button.pressed:
                    raise StoppedByPerson
                if cell.agent != self._agent and not self._is_ready(cell.agent, done):
                    continue
                with signals.interruptible():
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
            if self._stop_button.pressed:
                # Raised within the context: after a person's stop no rig may move home.
                raise StoppedByPerson
        if self.run_id is None and self.failed:
            raise BackendError("; ".join(self.failed.values()))
        if not self.failed:
            self._log.end_run(self._logged_run())

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
            device = task.device
            context = EpisodeContext(task.prompt, device.tools, limits=limits, advice=device.advice)
            agents[spec].check(context)

    def _run_undisturbed(self, number: int, cell: Cell, seed: int, rigs: _OpenRigs) -> None:
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
                disturbed = self._run_episode(self._logged_run(), number, cell, own_seed, session)
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
        task = self._parts.tasks[cell.task] if varied is None else varied.task(cell, seed)
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
            init_required=self.config.init is not None or self.config.vary,
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
            self._emit(EpisodeEnded(reader.episode(episode_id)))

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


def _distinct(refs: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(refs))
