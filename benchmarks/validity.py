"""Do the metrics see mistakes? Golden paths with mistakes of each kind, at growing rates, over many seeds.

A task's golden path is mutated at 11 rates, by 5 kinds of mistakes, with 20 seeds each. Paths that are the
same are played once, in the task's own world with seed 0 (`validity_paths.py`), and scored as any run is.
What was played is kept as a line a task in --kept, and the same command goes on where it stopped, also with
more seeds; `--tasks 0` plays none. All tasks count with as many seeds as the one with the fewest.

    python benchmarks/validity.py --tasks 100 --kept build/validity.jsonl --markdown FILE.md -o FILE.svg

From the kept lines it computes (`validity_figures.py`): curves with bands over tasks; the smallest difference
of two mistake rates that 300 episodes tell apart; the agents that a final-state check and path correctness
rank differently in a world; and how stable the agents' ranks are when beta, lambda and weights are others.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console

from agents.agent import EpisodeContext, ToolCallAction
from agents.baselines.fixed_actions import FixedActions
from agents.baselines.mutated import KINDS, mutate
from agents.baselines.oracle import GoldenAction, OracleAgent
from benchmarks.validity_figures import RATES, Measured, curves, markdown, picture
from benchmarks.validity_kept import packed, read, seeds_of, with_equal_seeds
from benchmarks.validity_paths import PathScores
from configs.suites import read_suite
from configs.task import Task

SEEDS = 20


class Played(OracleAgent):
    """Makes the calls of a mutated golden path."""

    def __init__(self, calls: Sequence[ToolCallAction]) -> None:
        super().__init__()
        self._calls = calls

    def start(self, context: EpisodeContext) -> None:
        """Begin an episode."""
        FixedActions.start(self, context)
        self._actions, self._looks = self._calls, 1


def golden_path(task: Task) -> list[ToolCallAction]:
    """Return the calls of a task's first golden path."""
    oracle = OracleAgent()
    oracle.start(EpisodeContext(task.prompt, task.device.tools, automaton=task.automaton))
    return [action for action in oracle._actions if isinstance(action, ToolCallAction)]


def identity(calls: Iterable[ToolCallAction]) -> str:
    """Return what two paths share that are the same."""
    parts = [(call.name, dict(call.arguments), isinstance(call, GoldenAction)) for call in calls]
    return json.dumps(parts, sort_keys=True)


def mutations(task: Task, seeds: int) -> dict[tuple[str, float, int], list[ToolCallAction]]:
    """Return the mutated paths of a task; each has a random stream of its own."""
    path = golden_path(task)
    return {
        (kind, rate, seed): mutate(
            path, task.device.tools, rate, Random(f"validity/{task.id}/{kind}/{rate}/{seed}"), kind
        )
        for kind in KINDS
        for rate in RATES
        for seed in range(seeds)
    }


def measure(task_id: str, seeds: int, before: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Play and score the mutated paths of a task, equal ones once; not those of fewer seeds `before`.

    Returns:
        `task`, `world`, `paths` (the scores of each path that was played), and `cells`: by kind and rate the
        place among these of each seed's path.
    """
    task = _tasks()[task_id]
    assert task.world is not None
    wanted = mutations(task, seeds)
    distinct: dict[str, list[ToolCallAction]] = {}
    for calls in wanted.values():
        distinct.setdefault(identity(calls), calls)
    paths: dict[str, dict[str, Any]] = {}
    if before is not None:
        had = dict.fromkeys(identity(calls) for key, calls in wanted.items() if key[-1] < seeds_of(before))
        paths.update(zip(had, before["paths"], strict=True))
    stage = PathScores(task)
    # In order, so that what paths begin with alike is played once.
    paths.update((key, stage.of(Played(distinct[key]))) for key in sorted(distinct) if key not in paths)
    places = {key: place for place, key in enumerate(distinct)}
    found: dict[str, list[int]] = {}
    for (kind, rate, _), calls in wanted.items():
        found.setdefault(f"{kind}:{rate}", []).append(places[identity(calls)])
    return {
        "task": task.id,
        "world": task.world.name,
        "paths": [paths[key] for key in distinct],
        "cells": found,
    }


def chosen(suite: str, count: int) -> list[str]:
    """Return tasks that need calls, as many of each world as its share, spread over their golden lengths."""
    by_world: dict[str, list[tuple[int, str]]] = {}
    tasks = [task for task in read_suite(suite).tasks if task.world is not None and task.answer is None]
    for task in tasks:
        assert task.world is not None
        by_world.setdefault(task.world.name, []).append((len(golden_path(task)), task.id))
    found: list[str] = []
    for world, own in sorted(by_world.items()):
        share = max(1, round(count * len(own) / len(tasks)))
        own.sort(key=lambda one: (one[0], Random(f"{world}/{one[1]}").random()))
        found += [own[int((k + 0.5) * len(own) / share)][1] for k in range(share)]
    return found


_LOADED: dict[str, Task] = {}


def _tasks(suite: str = "core") -> Mapping[str, Task]:
    if not _LOADED:
        _LOADED.update({task.id: task for task in read_suite(suite).tasks})
    return _LOADED


def run(suite: str, tasks: Sequence[str], seeds: int, kept: Path, processes: int) -> Iterator[str]:
    """Measure the tasks that are not kept yet, and keep each; yield its id."""
    _tasks(suite)
    done = {one["task"]: one for one in read(kept)}
    left = [task for task in tasks if task not in done or seeds_of(done[task]) < seeds]
    with ProcessPoolExecutor(processes) as pool, kept.open("a", encoding="utf-8") as file:
        # Shuffled, so that what is kept of a run that was stopped is of all worlds.
        waiting = [
            pool.submit(measure, task, seeds, done.get(task)) for task in Random(0).sample(left, len(left))
        ]
        for ended in as_completed(waiting):
            one = ended.result()
            file.write(json.dumps(one) + "\n")
            file.flush()
            yield one["task"]


def main() -> None:
    """Measure what is left, and write what follows from all that is kept."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--suite", default="core")
    options.add_argument("--tasks", type=int, default=100)
    options.add_argument("--seeds", type=int, default=SEEDS)
    options.add_argument("--processes", type=int, default=2)
    options.add_argument("--kept", type=Path, default=Path("validity.jsonl"))
    options.add_argument("--markdown", type=Path)
    options.add_argument("--pack", type=Path, help="write what is kept here, packed (.xz)")
    options.add_argument("-o", "--out", type=Path)
    given = options.parse_args()
    screen = Console()
    if given.tasks and given.kept.suffix == ".xz":
        options.error("a --kept file that is compressed is only read: give --tasks 0 with it")
    tasks = chosen(given.suite, given.tasks) if given.tasks else []
    for task in run(given.suite, tasks, given.seeds, given.kept, given.processes) if tasks else ():
        screen.print(task)
    lines = with_equal_seeds(read(given.kept))
    if given.pack:
        given.pack.write_bytes(packed(lines))
    measured = Measured.of(lines)
    tables = markdown(measured)
    if given.out:
        given.out.write_text(picture(curves(measured)), encoding="utf-8")
    if given.markdown:
        given.markdown.write_text(tables, encoding="utf-8")
    else:
        screen.print(tables, markup=False)


if __name__ == "__main__":
    main()
