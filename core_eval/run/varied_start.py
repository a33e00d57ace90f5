"""`run --vary` and `run --hazards`: a random initial state for each task and seed.

With `--vary` alone the oracle passes from it without harm; with hazards some harmless run is found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from agents.agent import EpisodeContext, ToolCallAction
from agents.baselines.oracle import OracleAgent
from configs.drivers_loader import load_driver
from configs.errors import ConfigError
from configs.hazards import Hazards, draw_hazards, drawn_start
from configs.rig_config import RigConfig
from configs.task import Build, Task
from configs.variation import draw_state
from configs.worlds_loader import World, load_world, make_simulator, merged_state
from core_eval.path import Call
from core_eval.run.config import Cell, RunConfig
from core_eval.text.streams import world_stream
from core_eval.verify.harmless_run import Proof, declined, harmless_run
from core_eval.verify.task import try_calls
from sims.overrides import stack_overrides
from sims.simulator import Simulator

DRAWS = 20
"""Maximum number of states tried for a task and seed."""
DETOURS = 0.1
"""Share of the starts that are taken where the oracle's own run does harm and another run does not.

They ask for a wait, a smaller dose or another order.
"""

Key = tuple[str, str, int]
"""The plan's references of a task and a rig, and a seed."""


@dataclass(frozen=True)
class DrawnStart:
    """A task with its drawn state, and what the log keeps of its hazards; None without hazards."""

    task: Task
    hazards: Mapping[str, Any] | None = None


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
        state = merged_state(world, task.init).model_dump()
        fitting = _fitting(world, task, simulator) if self._config.hazards else {}
        reason = ""
        otherwise: DrawnStart | None = None
        declining: DrawnStart | None = None
        for number in range(DRAWS):
            key = f"{task.id}/{seed}/{number}"
            drawn = draw_state(world.vary, state, key) if self._config.vary else {}
            names: tuple[str, ...] = ()
            if fitting:
                names, hazards = draw_hazards(fitting, state, f"{key}/hazards")
                # What the task or the user says of the start stays.
                drawn = stack_overrides(drawn, stack_overrides(hazards, task.init))
            try:
                varied = self._builds[task_ref](stack_overrides(self._init, drawn))
            except ConfigError as error:
                reason = str(error)
                continue
            calls, begun = _oracle_calls(varied, seed), world_stream(self._streams, seed, task.id)
            if not names:
                outcome = try_calls(varied, simulator, calls, begun)
                if outcome.good:
                    return DrawnStart(varied)
                reason = outcome.reason
                continue
            proof = harmless_run(varied, simulator, begun, calls)
            if proof is not None:
                start = DrawnStart(varied, _for_the_log(names, number, proof))
                if list(proof.calls) == calls or Random(f"{key}/detour").random() < DETOURS:
                    return start
                otherwise = otherwise or start
            elif declining is None and (proof := declined(varied, simulator, begun)) is not None:
                declining = DrawnStart(varied, _for_the_log(names, number, proof))
            reason = "no run without harm was found"
        if (last := otherwise or declining) is not None:
            return last
        raise ConfigError(
            f"{self._options}: from none of {DRAWS} states drawn for task {task.id}, seed {seed}, does "
            f"{'any run tried' if self._config.hazards else 'the oracle'} pass without harm (the last: "
            f"{reason}); narrow `{'hazards' if self._config.hazards else 'vary'}` of world {world.name}, "
            f"or leave {self._options} out"
        )

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
            self._simulators[name] = world, make_simulator(world)
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


def _for_the_log(names: Sequence[str], number: int, proof: Proof) -> dict[str, Any]:
    calls = [[call.name, dict(call.arguments)] for call in proof.calls]
    return {"drawn": list(names), "again": number, "proof": proof.kind, "calls": calls}


def _oracle_calls(task: Task, seed: int) -> list[Call]:
    """Return the oracle's calls."""
    oracle = OracleAgent()
    oracle.start(
        EpisodeContext(
            task.prompt, task.offered.tools, automaton=task.automaton, answer=task.answer, run_seed=seed
        )
    )
    calls = []
    while isinstance(action := oracle.act(None), ToolCallAction):
        calls.append(Call(action.name, action.arguments))
    return calls
