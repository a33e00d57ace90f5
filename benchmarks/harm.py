"""The cost of a harm assessment: `python benchmarks/harm.py [--episodes N] [--repeats N] [--device NAME]`.

Golden runs of the shipped tasks are changed by seed until they do harm: calls left out, repeated and moved,
doses and places altered. Each such episode is assessed twice: its counterfactuals played from checkpoints on
and only as far as needed, and played from the beginning to the end. The two reports must be equal, evidence
included. CPU time, medians over repeats, both in turn; the ratio is of the sums over all episodes.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from threading import Event
from time import process_time
from typing import Any

from core_eval.call_status import CallStatus
from core_eval.path.calls import StepKind

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from configs.task import Task
from configs.tasks_loader import list_tasks
from configs.worlds_loader import World, make_simulator
from core_eval.harm.assessment import assess
from core_eval.harm.report import ExecutedCall, HarmReport
from core_eval.path.calls import Call
from core_eval.path.scorer import OnlineScorer
from core_eval.verify.trials import example_calls
from devices.farm_rover.world import FarmWorld
from devices.outcome import PROTECTIVE_STOP


@dataclass(frozen=True)
class HarmfulEpisode:
    """Executed calls in a world, with their statuses."""

    name: str
    world: World
    init: Mapping[str, Any]
    seed: int
    calls: list[ExecutedCall]

    def assess(self, checkpoints: bool = True) -> HarmReport:
        """Assess its harm."""
        return assess(
            lambda: make_simulator(self.world),
            self.init,
            self.seed,
            self.calls,
            None,
            checkpoints=checkpoints,
        )


def changed_calls(task: Task, rng: random.Random) -> list[Call]:
    """Return a golden run with calls left out, repeated or altered, and moves to anywhere inserted."""
    assert task.world is not None
    golden = example_calls(task.automaton, next(iter(task.automaton.golden_paths(limit=1))))
    calls: list[Call] = []
    for call in golden:
        chance = rng.random()
        if chance < 0.1:
            continue
        numbers = {key: value for key, value in call.arguments.items() if isinstance(value, float | int)}
        if chance < 0.35 and numbers:
            factor = rng.choice([0.8, 1.1, 1.6, 2.5])
            call = Call(call.name, {**call.arguments, **{k: v * factor for k, v in numbers.items()}})
        if chance > 0.85:
            calls.append(Call("move_to", _anywhere(task.world, rng)))
        calls.append(call)
        if chance > 0.7:
            calls.append(call)
    return calls


def _anywhere(world: World, rng: random.Random) -> dict[str, float]:
    if isinstance(world.state, FarmWorld):
        field = world.state.field
        return {"x": rng.random() * field.width, "y": rng.random() * field.height}
    yaw = rng.uniform(-1.5, 1.5)
    return {"x": rng.uniform(0.25, 0.7), "y": rng.uniform(-0.6, 0.6), "z": rng.uniform(0.02, 0.3), "yaw": yaw}


def harmful_episode(task: Task, seed: int, init: Mapping[str, Any] | None = None) -> HarmfulEpisode:
    """Execute a changed golden run of a task; `init` is merged over the task's."""
    assert task.world is not None
    rng = random.Random(f"{task.id}/{seed}")
    given = {**task.init, **(init or {})}
    simulator = make_simulator(task.world, seed)
    answer = simulator.init(given, seed)
    assert answer.status == CallStatus.OK, answer.message
    scorer = OnlineScorer(task.automaton)
    calls = []
    for k, call in enumerate(changed_calls(task, rng)):
        outcome = simulator.execute(call.name, call.arguments, Event())
        status: Any = outcome.status
        harmful = scorer.step(Call(call.name, call.arguments, status)).kind == StepKind.HARMFUL
        cut = outcome.code == PROTECTIVE_STOP
        duration = outcome.duration
        calls.append(ExecutedCall(k, call.name, call.arguments, status, duration, harmful, partly=cut))
    return HarmfulEpisode(task.id, task.world, given, seed, calls)


def episodes_of(device: str, count: int) -> Iterator[HarmfulEpisode]:
    """Yield that many episodes with harm, of the shipped tasks in turn."""
    tasks = [task for task in list_tasks() if task.device.name == device and task.world is not None]
    seed = found = 0
    while found < count:
        episode = harmful_episode(tasks[seed % len(tasks)], seed)
        seed += 1
        if episode.assess().events:
            found += 1
            yield episode


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=20, help="harmful episodes of each world")
    parser.add_argument("--repeats", type=int, default=5)
    devices = ("farm_rover", "robotic_arm")
    parser.add_argument("--device", choices=devices, help="of this one alone")
    options = parser.parse_args()
    print(f"{options.episodes} harmful episodes a world, CPU time, medians of {options.repeats}")
    print(
        f"{'world':12} {'calls':>6} {'events':>6} {'unobserved':>10} {'from the start, ms':>19} "
        f"{'ms':>7} {'ratio':>6}"
    )
    for device in devices if options.device is None else (options.device,):
        fast = slow = 0.0
        calls = events = unobserved = 0
        for episode in episodes_of(device, options.episodes):
            spent: dict[bool, list[float]] = {True: [], False: []}
            reports = {}
            for _ in range(options.repeats):
                for checkpoints in (True, False):
                    started = process_time()
                    reports[checkpoints] = episode.assess(checkpoints)
                    spent[checkpoints].append(process_time() - started)
            assert reports[True] == reports[False], f"{episode.name} seed {episode.seed}: the reports differ"
            fast += median(spent[True])
            slow += median(spent[False])
            calls += len(episode.calls)
            events += len(reports[True].events)
            unobserved += reports[True].unobserved
        count = options.episodes
        print(
            f"{device:12} {calls:6d} {events:6d} {unobserved:10d} {slow / count * 1e3:19.1f} "
            f"{fast / count * 1e3:7.1f} {slow / fast:6.2f}"
        )


if __name__ == "__main__":
    main()
