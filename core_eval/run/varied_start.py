"""`run --vary`: a random initial state for each task and seed, from which the oracle passes without harm."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agents.agent import EpisodeContext, ToolCallAction
from agents.baselines.oracle import OracleAgent
from configs.drivers_loader import load_driver
from configs.errors import ConfigError
from configs.rig_config import RigConfig
from configs.tasks_loader import Build, Task
from configs.variation import draw_state
from configs.worlds_loader import World, load_world, make_simulator, merged_state
from core_eval.path import Call
from core_eval.run.config import Cell
from core_eval.text.streams import world_stream
from core_eval.verify.task import RunOutcome, try_calls
from sims.overrides import stack_overrides
from sims.simulator import Simulator

DRAWS = 20
"""Maximum number of states tried for a task and seed."""

Key = tuple[str, str, int]
"""The plan's references of a task and a rig, and a seed."""


class VariedStarts:
    """The tasks of a run with drawn initial states, the same for every agent and after a resume."""

    def __init__(
        self,
        builds: Mapping[str, Build],
        tasks: Mapping[str, Task],
        rigs: Mapping[str, RigConfig],
        init: Mapping[str, Any],
        streams: int,
    ) -> None:
        """Store the plan's tasks and rigs, the user's overrides of the initial state, and the version of the
        random streams."""
        self._builds = builds
        self._tasks = tasks
        self._rigs = rigs
        self._init = init
        self._streams = streams
        self._drawn: dict[Key, Task] = {}
        self._simulators: dict[str, tuple[World, Simulator[Any]]] = {}

    def draw(self, episodes: Iterable[tuple[Cell, int]]) -> None:
        """Draw the initial states of these episodes.

        Raises:
            ConfigError: a rig is hardware, a world declares no `vary`, or no drawn state is feasible.
        """
        for cell, seed in episodes:
            key = cell.task, cell.rig, seed
            if key not in self._drawn:
                self._drawn[key] = self._draw(*key)
        self._simulators.clear()

    def task(self, cell: Cell, seed: int) -> Task:
        """Return the task with its drawn state."""
        return self._drawn[cell.task, cell.rig, seed]

    def _draw(self, task_ref: str, rig_ref: str, seed: int) -> Task:
        task = self._tasks[task_ref]
        world, simulator = self._simulated(task_ref, rig_ref)
        state = merged_state(world, task.init).model_dump()
        reason = ""
        for number in range(DRAWS):
            drawn = draw_state(world.vary, state, f"{task.id}/{seed}/{number}")
            try:
                varied = self._builds[task_ref](stack_overrides(self._init, drawn))
            except ConfigError as error:
                reason = str(error)
                continue
            outcome = _oracle_outcome(varied, simulator, seed, self._streams)
            if outcome.good:
                return varied
            reason = outcome.reason
        raise ConfigError(
            f"--vary: from none of {DRAWS} states drawn for task {task.id}, seed {seed}, does the oracle "
            f"pass without harm (the last: {reason}); narrow `vary` of world "
            f"{world.name}, or leave --vary out"
        )

    def _simulated(self, task_ref: str, rig_ref: str) -> tuple[World, Simulator[Any]]:
        """Return the rig's world, else the task's, and a simulator of it."""
        task, rig = self._tasks[task_ref], self._rigs[rig_ref]
        if rig.driver is not None and load_driver(rig.driver).link != "pathrig":
            raise ConfigError(
                f"rig {rig.name} is hardware, whose initial state cannot be set: leave out --vary"
            )
        world = task.world if rig.world is None else load_world(rig.world)
        if world is None:
            raise ConfigError(f"--vary: task {task.id} has no world that the kit simulates; leave it out")
        if not world.vary:
            raise ConfigError(f"--vary: world {world.name} has no `vary`; leave the option out")
        name = task_ref if rig.world is None else rig_ref
        if name not in self._simulators:
            self._simulators[name] = world, make_simulator(world)
        return self._simulators[name]


def _oracle_outcome(task: Task, simulator: Simulator[Any], seed: int, streams: int) -> RunOutcome:
    """Run the oracle's calls from the task's initial state."""
    oracle = OracleAgent()
    oracle.start(
        EpisodeContext(
            task.prompt, task.offered.tools, automaton=task.automaton, answer=task.answer, run_seed=seed
        )
    )
    calls = []
    while isinstance(action := oracle.act(None), ToolCallAction):
        calls.append(Call(action.name, action.arguments))
    return try_calls(task, simulator, calls, world_stream(streams, seed, task.id))
