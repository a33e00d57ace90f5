"""The parts of a run, with a line for what is wrong with its tasks before anything starts."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from agents.agent import Agent
from configs.suites import task_ref
from configs.task import Task
from configs.worlds_loader import known_world, load_world, make_simulator
from core_eval.cli.output import warn_of_cycles
from core_eval.run.config import RunConfig
from core_eval.run.parts import Parts, load_parts
from core_eval.verify.trials import Trials, example_calls


def checked_parts(config: RunConfig, agents: Mapping[str, Agent] | None = None) -> Parts:
    """Load the parts; say on stderr which automata have cycles, and where a golden path does not run."""
    parts = load_parts(config, agents)
    warn_of_cycles(task.automaton for task in parts.tasks.values())
    for rule in config.rules:
        for tool in rule.tools:
            if not any(tool in task.offered.by_name for task in parts.tasks.values()):
                print(
                    f"pathrig: warning: rule {rule.id}: no task of this run has the tool {tool}",
                    file=sys.stderr,
                )
    for failing in failing_golden_runs(config, parts):
        print(f"pathrig: warning: {failing}", file=sys.stderr)
    return parts


MOST_PATHS = 256
DEVICE_SECONDS = 60.0


def failing_golden_runs(config: RunConfig, parts: Parts) -> Iterator[str]:
    """Yield a line for each task of which a golden path fails in the simulated world of its rig.

    Golden paths are tried until they have taken `DEVICE_SECONDS`, one at least. Left out are the kit's own
    tasks in their own worlds, which its tests run, and drawn initial states, from which the oracle passes.
    """
    if config.draws:
        return
    for task_name, rig_name in dict.fromkeys((cell.task, cell.rig) for cell in config.cells):
        world = parts.rigs[rig_name].world
        task = parts.tasks[task_name]
        if world is None or (not config.init and known_world(world) and task_ref(task) == task.id):
            continue
        failure = _failure(task.in_world(load_world(world)), config.seed)
        if failure is not None:
            yield (
                f"task {task.id}: its golden run fails on rig {parts.rigs[rig_name].name}: {failure}; "
                "final state and response are not compared with it"
            )


def _failure(task: Task, seed: int) -> str | None:
    if task.world is None:
        return None
    simulator, seconds = make_simulator(task.world, seed), 0.0
    for path in task.automaton.golden_paths(limit=MOST_PATHS):
        calls = example_calls(task.automaton, path, task.offered)
        refused = Trials(task, simulator, seed)(calls).refused
        seconds += simulator.clock.now
        if refused is not None or seconds > DEVICE_SECONDS:
            return refused
    return None
