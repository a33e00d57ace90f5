"""`run --vary`: each task and seed starts from a drawn state from which the oracle passes without harm."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agents.agent import EpisodeContext, ToolCallAction
from agents.baselines.oracle import OracleAgent
from configs.drivers_loader import load_driver
from configs.errors import ConfigError
from configs.rigs_loader import RigConfig
from configs.tasks_loader import Build, Task
from configs.variation import draw_state
from configs.worlds_loader import World, load_world, make_simulator, merged_state
from core_eval.harness.run_config import Cell
from core_eval.harness.verify import Outcome, try_calls
from core_eval.path import Call
from sims.overrides import stack_overrides
from sims.simulator import Simulator

DRAWS = 20
"""So many states are tried for a task and seed."""

Place = tuple[str, str, int]
"""A task and a rig, as the plan names them, and a seed."""


class VariedStarts:
    """The tasks of a run with the states that their seeds draw: the same for every agent and resume."""

    def __init__(
        self,
        builds: Mapping[str, Build],
        tasks: Mapping[str, Task],
        rigs: Mapping[str, RigConfig],
        init: Mapping[str, Any],
    ) -> None:
        """Take what the plan names, and the overrides that the user gave."""
        self._builds = builds
        self._tasks = tasks
        self._rigs = rigs
        self._init = init
        self._drawn: dict[Place, Task] = {}
        self._simulators: dict[str, tuple[World, Simulator[Any]]] = {}

    def draw(self, episodes: Iterable[tuple[Cell, int]]) -> None:
        """Draw what these episodes need, before anything moves.

        Raises:
            ConfigError: a rig is hardware, a world declares nothing to vary, or no drawn state will do.
        """
        for cell, seed in episodes:
            place = cell.task, cell.rig, seed
            if place not in self._drawn:
                self._drawn[place] = self._draw(*place)
        self._simulators.clear()

    def task(self, cell: Cell, seed: int) -> Task:
        """The task with its state drawn."""
        return self._drawn[cell.task, cell.rig, seed]

    def _draw(self, task_ref: str, rig_ref: str, seed: int) -> Task:
        task = self._tasks[task_ref]
        world, simulator = self._simulated(task_ref, rig_ref)
        state = merged_state(world, task.init).model_dump()
        why = ""
        for number in range(DRAWS):
            drawn = draw_state(world.vary, state, f"{task.id}/{seed}/{number}")
            try:
                varied = self._builds[task_ref](stack_overrides(self._init, drawn))
            except ConfigError as error:
                why = str(error)
                continue
            outcome = _oracle_outcome(varied, simulator, seed)
            if outcome.good:
                return varied
            why = outcome.why
        raise ConfigError(
            f"--vary: from none of {DRAWS} states drawn for task {task.id}, seed {seed}, does the oracle "
            f"pass without harm (the last: {why}); narrow `vary` of world {world.name}, or leave --vary out"
        )

    def _simulated(self, task_ref: str, rig_ref: str) -> tuple[World, Simulator[Any]]:
        """The world of a rig that names one, else of the task, and a simulator of it."""
        task, rig = self._tasks[task_ref], self._rigs[rig_ref]
        if rig.driver is not None and load_driver(rig.driver).link != "pathrig":
            raise ConfigError(
                f"rig {rig.name} is hardware, whose initial state nobody sets: leave out --vary"
            )
        world = task.world if rig.world is None else load_world(rig.world)
        if world is None:
            raise ConfigError(f"--vary: task {task.id} has no world that the kit simulates; leave it out")
        if not world.vary:
            raise ConfigError(f"--vary: world {world.name} says nothing under `vary`; leave the option out")
        name = task_ref if rig.world is None else rig_ref
        if name not in self._simulators:
            self._simulators[name] = world, make_simulator(world)
        return self._simulators[name]


def _oracle_outcome(task: Task, simulator: Simulator[Any], seed: int) -> Outcome:
    """How the oracle's calls go from the task's initial state."""
    oracle = OracleAgent()
    oracle.start(EpisodeContext(task.prompt, task.device.tools, seed, task.automaton, answer=task.answer))
    calls = []
    while isinstance(action := oracle.act(None), ToolCallAction):
        calls.append(Call(action.name, action.arguments))
    return try_calls(task, simulator, calls, seed)
