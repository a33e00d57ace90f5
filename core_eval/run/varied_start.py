"""`run --vary` and `run --hazards`: a random initial state for each task and seed.

With `--vary` alone the oracle passes from it without harm; `hazard_start` says what is taken with hazards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from random import Random
from typing import Any

from configs.drivers_loader import load_driver
from configs.errors import ConfigError
from configs.hazards import Hazards, draw_hazards, drawn_start
from configs.rig_config import RigConfig
from configs.site_notes import notes_of
from configs.task import Build, Task
from configs.variation import draw_state
from configs.worlds_loader import World, load_world, make_simulator, merged_state
from core_eval.run.config import Cell, RunConfig
from core_eval.run.hazard_start import Draw, DrawnStart, hazard_start, oracle_calls
from core_eval.text.streams import world_stream
from core_eval.verify.trials import Trials
from sims.overrides import stack_overrides
from sims.simulator import Simulator

DRAWS = 20
"""Maximum number of states tried for a task and seed."""
HAZARD_DRAWS = 40
"""The same with hazards."""

Key = tuple[str, str, int]
"""The plan's references of a task and a rig, and a seed."""


class VariedStarts:
    """The tasks of a run with drawn initial states, the same for every agent and after a resume."""

    def __init__(
        self,
        builds: Mapping[str, Build],
        tasks: Mapping[str, Task],
        rigs: Mapping[str, RigConfig],
        config: RunConfig,
        streams: int,
    ) -> None:
        """Store the plan's tasks and rigs, what is to be drawn, and the version of the random streams."""
        self._builds = builds
        self._tasks = tasks
        self._rigs = rigs
        self._config = config
        self._init = config.init or {}
        self._options = " and ".join(
            name for name, asked in (("--vary", config.vary), ("--hazards", config.hazards)) if asked
        )
        self._streams = streams
        self._drawn: dict[Key, DrawnStart] = {}
        self._simulators: dict[str, tuple[World, Simulator[Any]]] = {}

    def draw(self, episodes: Iterable[tuple[Cell, int]]) -> None:
        """Draw the initial states of these episodes.

        Raises:
            ConfigError: a rig is hardware, a world declares nothing to draw, or no drawn state is feasible.
        """
        for cell, seed in episodes:
            key = cell.task, cell.rig, seed
            if key not in self._drawn:
                self._drawn[key] = self._draw(*key)
        self._simulators.clear()

    def start(self, cell: Cell, seed: int) -> DrawnStart:
        """Return the task with its drawn state."""
        return self._drawn[cell.task, cell.rig, seed]

    def _draw(self, task_ref: str, rig_ref: str, seed: int) -> DrawnStart:
        task = self._tasks[task_ref]
        world, simulator = self._simulated(task_ref, rig_ref)
        fitting = _fitting(world, task, simulator) if self._config.hazards else {}
        begun = world_stream(self._streams, seed, task.id)
        failures: list[str] = []
        draws = self._draws(task_ref, world, fitting, seed, failures)
        if fitting:
            start = hazard_start(draws, simulator, begun, seed)
        else:
            start = _good_start(draws, simulator, begun, seed, failures)
        if start is not None:
            return start
        draws_made, key = (HAZARD_DRAWS, "hazards") if fitting else (DRAWS, "vary")
        raise ConfigError(
            f"{self._options}: from none of {draws_made} states drawn for task {task.id}, seed {seed}, does "
            f"{'any run tried' if fitting else 'the oracle'} pass without harm (the last: "
            f"{failures[-1] if failures else 'no run without harm was found'}); narrow `{key}` of world "
            f"{world.name}, or leave {self._options} out"
        )

    def _draws(
        self, task_ref: str, world: World, fitting: Hazards, seed: int, failures: list[str]
    ) -> Iterator[Draw]:
        """Yield the states drawn for a task; add to `failures` why one does not fit."""
        task = self._tasks[task_ref]
        state = merged_state(world, task.init).model_dump()
        for number in range(HAZARD_DRAWS if fitting else DRAWS):
            key = f"{task.id}/{seed}/{number}"
            drawn = draw_state(world.vary, state, key) if self._config.vary else {}
            plain = stack_overrides(self._init, stack_overrides(drawn, task.init))
            names: tuple[str, ...] = ()
            if fitting:
                names, hazards = draw_hazards(fitting, state, f"{key}/hazards")
                # What the task or the user says of the start stays.
                drawn = stack_overrides(drawn, stack_overrides(hazards, task.init))
            try:
                varied = self._builds[task_ref](stack_overrides(self._init, drawn))
            except ConfigError as error:
                failures.append(str(error))
                continue
            if fitting and world.notes:
                varied = varied.with_notes(
                    notes_of(world.notes, merged_state(world, varied.init).model_dump(mode="json"))
                )
            yield Draw(number, names, varied, plain)

    def _simulated(self, task_ref: str, rig_ref: str) -> tuple[World, Simulator[Any]]:
        """Return the rig's world, else the task's, and a simulator of it."""
        task, rig = self._tasks[task_ref], self._rigs[rig_ref]
        if rig.driver is not None and load_driver(rig.driver).link != "pathrig":
            raise ConfigError(
                f"rig {rig.name} is hardware, whose initial state cannot be set: leave out {self._options}"
            )
        world = task.world if rig.world is None else load_world(rig.world)
        if world is None:
            raise ConfigError(
                f"{self._options}: task {task.id} has no world that the kit simulates; leave it out"
            )
        for key in ("vary", "hazards"):
            if getattr(self._config, key) and not getattr(world, key):
                raise ConfigError(f"--{key}: world {world.name} has no `{key}`; leave the option out")
        name = task_ref if rig.world is None else rig_ref
        if name not in self._simulators:
            simulator = make_simulator(world)
            # A start is judged by answers, harm and the end state.
            simulator.hurries = not simulator.answers_by_sensors
            self._simulators[name] = world, simulator
        return self._simulators[name]


def _fitting(world: World, task: Task, simulator: Simulator[Any]) -> Hazards:
    """Return the hazards that a task may have: where all is to stay as it is, those that leave its goal."""
    goal = task.goal

    def holds(overrides: Mapping[str, Any]) -> bool:
        simulator.init(overrides, 0)
        return goal is not None and not goal.missed(simulator.state_dict())

    if not holds(task.init):
        return world.hazards
    state = merged_state(world, task.init).model_dump()
    starts = {
        name: [drawn_start(start, state, Random(0)) for start in hazard.one_of]
        for name, hazard in world.hazards.items()
    }
    return {
        name: hazard
        for name, hazard in world.hazards.items()
        if all(holds(stack_overrides(start, task.init)) for start in starts[name])
    }


def _good_start(
    draws: Iterable[Draw], simulator: Simulator[Any], begun: int, seed: int, failures: list[str]
) -> DrawnStart | None:
    """Return the first start from which the oracle passes without harm; else add why it does not."""
    for draw in draws:
        outcome = Trials(draw.task, simulator, begun)(oracle_calls(draw.task, seed))
        if outcome.good:
            return DrawnStart(draw.task)
        failures.append(outcome.reason)
    return None
