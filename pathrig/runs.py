"""Episodes on rigs and simulators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from agents.agent import Agent
from configs.errors import ConfigError
from configs.suites import task_ref
from configs.task import Task
from configs.tasks_loader import load_task
from core_eval.log import RunLog
from core_eval.rig.final_stops import final_stops
from core_eval.run.config import Cell, RunConfig
from core_eval.run.plan import Run
from firmware_bridge.guard import GuardMode
from pathrig.log import Log

__all__ = ["run"]


def run(
    task: Task | str | Sequence[Task | str],
    agent: Agent | str | Sequence[Agent | str],
    *,
    rig: str | Path | None = None,
    db: str | Path = "pathrig.db",
    episodes: int = 1,
    seed: int = 0,
    vary: bool = False,
    hazards: bool = False,
    init: Mapping[str, Any] | None = None,
    guard: Literal["observe", "block", "confirm", "estop", "twin"] | None = None,
) -> Log:
    """Run episodes and log, stop and score them as `pathrig run` does.

    Programs that a rig's or a model's file names are run without being asked: whoever calls this consents.

    >>> log = run("water_one_plant", "oracle", db=folder / "farm.db")
    >>> [(row.status, row.scores["path_correctness"]) for row in log.episodes]
    [('completed', 1.0)]

    Args:
        task: a task or a reference, or several.
        agent: an `Agent`, or a specification such as `oracle` or `llama:FILE.gguf`; or several.
        rig: a rig's name, file or URL; None: a simulator of each task's world.
        db: the log; created, or appended to.
        episodes: of each task and agent; the i-th has the seed `seed + i`.
        seed: of the first.
        vary: draw each task's initial state by its seed.
        hazards: draw hazards of the tasks' worlds by the seed.
        init: overrides of the world's initial state, on simulators.
        guard: the mode for harmful calls; None: observe on simulators, block on hardware.

    Returns:
        The log, restricted to this run.

    Raises:
        ValueError: an argument, task, rig or agent is invalid (ConfigError, AgentSpecError); one line.
        Exception: the rig, the link or the model failed (EpisodeFailed, RigError, LinkError, BackendError),
            or the log cannot be written (LogError). A note says so where a rig was not stopped for certain.
    """
    tasks = [task] if isinstance(task, str | Task) else list(task)
    agents = list(agent) if isinstance(agent, Sequence) and not isinstance(agent, str) else [agent]
    named = _names(agents)
    made = {name: one for name, one in named.items() if isinstance(one, Agent)}
    refs = [(one if isinstance(one, str) else task_ref(one)) for one in tasks]
    places = [(ref, _rig_of(one) if rig is None else str(rig)) for ref, one in zip(refs, tasks, strict=True)]
    if not places or not named:
        raise ConfigError("run needs a task and an agent")
    config = RunConfig(
        cells=tuple(Cell(task=ref, rig=where, agent=spec) for spec in named for ref, where in places),
        episodes=episodes,
        seed=seed,
        vary=vary,
        hazards=hazards,
        init=None if init is None else dict(init),
        guard=None if guard is None else GuardMode(guard),
    )
    with final_stops() as stops:
        try:
            with RunLog(Path(db)) as log:
                run_id = Run.of(config, log, agents=made).start()
        except Exception as error:
            for stop in stops:
                if stop.failed:
                    error.add_note(stop.line())
            raise
    return Log(Path(db), run_id)


def _names(agents: Sequence[Agent | str]) -> dict[str, Agent | str]:
    """Return the agents by what the log calls them: a specification, or an agent's name, told apart."""
    named: dict[str, Agent | str] = {}
    for one in agents:
        name = one if isinstance(one, str) else one.name or type(one).__name__
        given, number = name, 1
        while name in named:
            number += 1
            name = f"{given}-{number}"
        named[name] = one
    return named


def _rig_of(task: Task | str) -> str:
    known = load_task(task) if isinstance(task, str) else task
    if known.world is None:
        raise ConfigError(f"task {known.id} names no world: give rig=")
    return f"sim:{known.world.name}"
