"""The tasks, rigs and agents of a plan: loaded, and checked to fit each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from agents.agent import Agent
from agents.interruptible_agent import InterruptibleAgent
from agents.registry import agent_maker
from configs.errors import ConfigError
from configs.rig_config import RigConfig, check_device, device_of, fitted_tools
from configs.rigs_loader import load_rig
from configs.task import Task
from configs.tasks_loader import task_builder
from configs.worlds_loader import load_world, merged_state
from core_eval.log import LogReader, StepRow
from core_eval.rig.known_rig import model_of, world_of_rig
from core_eval.run.config import RunConfig
from core_eval.run.varied_start import VariedStarts
from core_eval.verify.static_checks import missing_tools
from devices.device_type import an
from firmware_bridge.guard import GuardMode
from firmware_bridge.links import link_type


@dataclass(frozen=True)
class Parts:
    """The tasks, rigs and agents of a plan, by their references.

    Attributes:
        streams: the version of the random streams; a rig that is a recording may need an older one.
        varied: the tasks with drawn initial states, for `--vary` and `--hazards`.
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
        if device is not None:
            fitting = task.for_device(device, rig.world)
            if fitting is None:
                raise ConfigError(
                    f"task {task.id} is for {an(task.device.name)}, but rig {rig.name} is {an(device.name)}"
                )
            task = tasks[cell.task] = fitting
        _check_fitted(task, rig)
        try:
            # The rig loader checks it only where the rig's file names a device.
            check_device(rig, task.device)
        except ConfigError as error:
            raise ConfigError(str(error), file=cell.rig) from None
        if rig.twin is not None and load_world(rig.twin.world).device != task.device:
            raise ConfigError(
                f"task {task.id} is for {an(task.device.name)}, "
                f"but twin.world of rig {rig.name} is {rig.twin.world}"
            )
        if GuardMode.TWIN in (config.guard, rig.guard) and model_of(rig, task) is None:
            raise ConfigError(
                f"guard twin: rig {rig.name} has no twin: its file must name a world under `twin`"
            )
        if rig.world is not None:
            merged_state(load_world(rig.world), task.init)
    for name in config.safe_tools:
        if not any(name in task.device.by_name for task in tasks.values()):
            raise ConfigError(f"--safe-tool {name}: no task of this run has that tool")
    interruptible = made_when_used(config, agents or {})
    kinds = ((link_type(rig.url), rig.url) for rig in rigs.values())
    streams = min([config.streams, *(kind.streams(url) for kind, url in kinds if kind is not None)])
    varied = VariedStarts(builds, tasks, rigs, config, streams) if config.draws else None
    return Parts(tasks, rigs, interruptible, streams, varied)


def made_when_used(config: RunConfig, made: Mapping[str, Agent]) -> dict[str, Agent]:
    """Return the agents of a plan by their specifications; those of `made` are made already.

    Raises:
        AgentSpecError: a specification is invalid.
    """
    return {
        spec: InterruptibleAgent(made[spec] if spec in made else agent_maker(spec, read_calls))
        for spec in _distinct(cell.agent for cell in config.cells)
    }


def sent(parts: Parts) -> Parts:
    """Return parts as another process may get them: without agents and drawn starts, which hold locks."""
    return replace(parts, agents={}, varied=None)


def received(config: RunConfig, parts: Parts) -> Parts:
    """Return parts that were `sent`, whole again.

    Raises:
        ConfigError, AgentSpecError: a file that an agent names, or one of a task that is drawn, is not here.
    """
    varied = None
    if config.draws:
        builds = {ref: task_builder(ref) for ref in parts.tasks}
        varied = VariedStarts(builds, parts.tasks, parts.rigs, config, parts.streams)
    return replace(parts, agents=made_when_used(config, {}), varied=varied)


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


def _distinct(refs: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(refs))


def read_calls(path: Path, episode: int) -> list[StepRow]:
    """Return the steps of an episode, in order.

    Raises:
        LogError: the file is no log, or has no such episode.
    """
    with LogReader(path) as reader:
        return reader.steps(reader.episode(episode).id)
