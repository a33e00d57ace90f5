"""The start of an episode: its parameters, its meter, and the log's row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from agents.agent import Agent, Limits
from agents.names import agent_name, without_folders
from agents.registry import model_options
from configs.rig_config import RigConfig
from configs.task import Task
from configs.task_entry import TaskLimits
from core_eval.log import Definition, EpisodeStart
from core_eval.path.calls import Call
from core_eval.rig.known_rig import twin_of
from core_eval.rules.rule_file import Rule
from core_eval.run.provenance import agent_info
from core_eval.run.resource_usage import Meter
from core_eval.run.told_prompt import told_prompt
from core_eval.text.streams import stream, world_stream
from firmware_bridge.guard import GuardMode


@dataclass(frozen=True)
class Assignment:
    """The parameters of one episode."""

    run_id: int
    number: int
    seed: int
    """The run's seed with the number of the try added."""
    task: Task
    agent_spec: str
    scoring: Mapping[str, Any]
    guard: GuardMode | None
    init_required: bool
    """The user gave an initial state: a rig that cannot be initialised is an error."""
    limits: TaskLimits = field(default_factory=TaskLimits)
    """Limits that the user gave, in place of the task's."""
    streams: int = 1
    """The version of the random streams that the run's configuration names in the log."""
    name: str = ""
    """The agent's name in the run; left out: that of its specification."""
    safe_tools: tuple[str, ...] = ()
    """Tools that the user named as safe, besides those of shipped device types."""
    rules: tuple[Rule, ...] = ()
    """Rules that the calls must keep."""
    hazards: Mapping[str, Any] | None = None
    """The hazards that were drawn, with the proof that a harmless run exists, for the log."""
    harmless: tuple[Call, ...] | None = None
    """The calls of that run, for the oracle."""

    @property
    def agent_name(self) -> str:
        """The agent's name in the run."""
        return self.name or agent_name(self.agent_spec)

    @property
    def world_seed(self) -> int:
        """The seed with which the world begins."""
        return world_stream(self.streams, self.seed, self.task.id)

    @cached_property
    def prompt(self) -> str:
        """What the agent is told: the task's prompt, as the agent's option `prompts` has it."""
        options = model_options(self.agent_spec)
        drawn = stream(self.streams, self.seed, "prompt", self.task.id)
        return self.task.prompt if options is None else told_prompt(self.task, options.prompts, drawn)

    @property
    def agent_seed(self) -> int:
        """The seed of the agent's own random numbers."""
        return stream(self.streams, self.seed, "agent", self.task.id, self.agent_name)


def episode_start(what: Assignment, rig: RigConfig, agent: Agent, limits: Limits) -> EpisodeStart:
    """Return the log's row for the start, with all that is needed to score without the task's file."""
    task = what.task
    return EpisodeStart(
        number=what.number,
        task=task.id,
        world=None if task.world is None else task.world.name,
        rig=without_folders(rig.name),
        device=task.device.name,
        agent=what.agent_name,
        scaffold=agent.scaffold,
        seed=what.seed,
        definition=task_definition(task),
        init=task.init,
        limits=asdict(limits),
        guard=what.guard or GuardMode.OBSERVE,
        scoring=what.scoring,
        agent_info={"name": agent_name(agent.name), **agent_info(what.agent_spec), **_options(agent)},
        twin=twin_of(rig, task),
        template_=task.template,
        hazards=what.hazards,
    )


def task_definition(task: Task) -> Definition:
    """Return what the log keeps of a task."""
    goal = None
    if task.goal is not None:
        goal = {key: pattern.plain() for key, pattern in task.goal.patterns.items()}
    return Definition(
        task.prompt,
        task.automaton.to_json(),
        goal,
        task.offered.schemas(),
        None if task.world is None else task.world.state.model_dump(mode="json"),
        task.answer,
        [caution.model_dump(exclude_defaults=True) for caution in task.cautions] or None,
        None if task.world is None else task.world.type.version,
        task.decline,
    )


def _options(agent: Agent) -> dict[str, Any]:
    return {"options": dict(agent.options)} if agent.options else {}


def episode_limits(task: Task, agent_spec: str, asked: TaskLimits) -> Limits:
    """Return the limits of an episode: those of the agent's options, else asked for, else the task's."""
    limits = Limits(**(task.limits.model_dump(exclude_none=True) | asked.model_dump(exclude_none=True)))
    options = model_options(agent_spec)
    return limits if options is None else options.limits(limits)


def meter_of(rig: RigConfig, usual: Callable[[], Meter | None]) -> Callable[[], Meter | None]:
    """Return what makes the meter that a rig's file names, once that is open; `usual` where it names none."""
    if rig.meter is None:
        return usual
    # It needs the wires of the drivers, which a run without a meter does not.
    from core_eval.run.rig_meter import rig_meter

    return rig_meter(rig.meter).meter
