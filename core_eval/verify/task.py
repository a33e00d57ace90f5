"""Verification of a task: its golden paths, and mutants of them, are run on its simulator."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from configs.task import Task
from configs.worlds_loader import make_simulator
from core_eval.path.automaton import TaskAutomaton
from core_eval.path.calls import Call
from core_eval.path.scorer import accepts, score_path
from core_eval.text.streams import STREAMS, stream, world_stream
from core_eval.verify.trials import Trials, example_calls
from sims.simulator import Simulator

Check = Callable[[Task, Sequence[Sequence[str]], Simulator[Any], int], tuple[list[str], list[str]]]
"""Checks golden paths of a task on its simulator, with a seed; returns faults and remarks, a line each."""
BOUND = 64
"""Maximum number of golden paths and of mutants, that are run; of more paths, a seeded sample."""


@dataclass(frozen=True)
class Verification:
    """The result of a verification.

    Attributes:
        paths: how many golden paths were run.
        sampled: whether there are more.
        mutants: how many mutants were run.
        faults: golden paths that fail; and mutants that the automaton accepts although they miss the goal
            or do harm (too wide). One line each.
        remarks: mutants that reach the goal without harm although the automaton calls them harmful
            (perhaps too narrow); and the automaton's own warnings. One line each.
        malformed: whether the task's record is invalid, so that nothing was run.
    """

    task: str
    paths: int
    sampled: bool
    mutants: int
    faults: tuple[str, ...]
    remarks: tuple[str, ...]
    malformed: bool = False


def malformed_task(task_id: str, faults: Sequence[str]) -> Verification:
    """Return the verification of a task whose record is invalid."""
    return Verification(task_id, 0, False, 0, tuple(faults), (), malformed=True)


def verify_task(
    task: Task, seed: int = 0, checks: Sequence[Check] = (), *, bound: int = BOUND
) -> Verification:
    """Run golden paths and mutants of them on the task's world.

    Without a simulated world, only score the golden paths. If they hold, run `checks` on them.

    Args:
        bound: maximum number of golden paths, and of mutants, that are run.
    """
    rng = random.Random(stream(STREAMS, seed, "verify", task.id))
    seed = world_stream(STREAMS, seed, task.id)
    paths, sampled = golden_sample(task.automaton, rng, bound)
    faults: list[str] = []
    if task.world is None:
        for path in paths:
            calls = example_calls(task.automaton, path, task.offered)
            faults += (f"golden path {' '.join(path)}: {fault}" for fault in score_faults(task, calls))
        note = "the kit does not simulate its world: its golden paths were scored, nothing was run"
        return Verification(task.id, len(paths), sampled, 0, tuple(faults), (*task.automaton.warnings, note))
    simulator = make_simulator(task.world, seed)
    trial = Trials(task, simulator, seed)
    for path in paths:
        calls = example_calls(task.automaton, path, task.offered)
        faults += (f"golden path {' '.join(path)}: {fault}" for fault in _golden_faults(task, trial, calls))
    remarks = list(task.automaton.warnings)
    changed = list(islice(mutants(paths, rng), bound))
    golden_writes = {_writes(task, path) for path in paths}
    demanded: list[str] = []
    for mutant in changed:
        calls = example_calls(task.automaton, mutant, task.offered)
        outcome = trial(calls)
        accepted = accepts(task.automaton, calls)
        # A call that is not told its fact is no step of the path, whatever comes after it.
        if accepted and outcome.told and not outcome.good:
            faults.append(f"too wide: accepts {' '.join(mutant)}, but {outcome.reason}")
        if not accepted and outcome.good and task.goal is not None:
            if _writes(task, mutant) in golden_writes:
                demanded += [symbol for symbol in _reads(task, paths) if symbol not in mutant]
            else:
                remarks.append(f"perhaps too narrow: {' '.join(mutant)} reaches the goal without harm")
    if demanded:
        reads = ", ".join(dict.fromkeys(demanded))
        remarks.append(
            f"the plan demands reads that the goal does not need: {reads}: does the prompt ask for them?"
        )
    for check in () if faults else checks:
        more, advice = check(task, paths, simulator, seed)
        faults += more
        remarks += advice
    return Verification(task.id, len(paths), sampled, len(changed), tuple(faults), tuple(remarks))


def golden_sample(
    automaton: TaskAutomaton, rng: random.Random, bound: int = BOUND
) -> tuple[list[tuple[str, ...]], bool]:
    """Return up to `bound` golden paths, drawn by random walks if there are more, and whether there are."""
    first = list(islice(automaton.golden_paths(limit=bound + 1), bound + 1))
    if len(first) <= bound:
        return first, False
    walks = (_walk(automaton, rng) for _ in range(bound * 4))
    distinct = dict.fromkeys(walk for walk in walks if walk is not None)
    return list(islice(distinct, bound)), True


def _golden_faults(task: Task, trial: Trials, calls: Sequence[Call]) -> Iterator[str]:
    outcome = trial(calls)
    if not outcome.good:
        yield outcome.reason
    yield from score_faults(task, calls)


def score_faults(task: Task, calls: Sequence[Call]) -> Iterator[str]:
    """Yield why a golden path's calls do not score 1, if they do not."""
    scores = score_path(task.automaton, calls)
    if not scores.accepted or scores.harmful_calls or scores.path_correctness != 1.0:
        yield f"scores path_correctness {scores.path_correctness:g}: two symbols may match the same call"


def _writes(task: Task, path: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in path if task.automaton.symbols[name].tool not in task.offered.reads)


def _reads(task: Task, paths: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the symbols of the rig's reads: what an operator knows, no end state shows."""
    for name in {name: None for path in paths for name in path}:
        if task.automaton.symbols[name].tool in task.device.reads:
            yield name


def _walk(automaton: TaskAutomaton, rng: random.Random) -> tuple[str, ...] | None:
    state, seen = automaton.start, {automaton.start}
    path: list[str] = []
    # All states of a plan of stages are useful, and too many to list.
    useful = None if automaton.stages is not None else automaton.useful
    while True:
        steps = [
            step
            for step in automaton.progress[state]
            if step[1] not in seen and (useful is None or step[1] in useful)
        ]
        if state in automaton.accepting and (not steps or rng.random() < 0.5):
            return tuple(path)
        if not steps:
            return None
        symbol, state = rng.choice(steps)
        path.append(symbol)
        seen.add(state)


def mutants(paths: Sequence[tuple[str, ...]], rng: random.Random) -> Iterator[tuple[str, ...]]:
    """Yield golden paths with one step left out or two neighbours swapped; each once, none of them golden."""
    seen = set(paths)
    for path in rng.sample(list(paths), len(paths)):
        left_out = [path[:k] + path[k + 1 :] for k in range(len(path))]
        swapped = [(*path[:k], path[k + 1], path[k], *path[k + 2 :]) for k in range(len(path) - 1)]
        for mutant in left_out + swapped:
            if mutant not in seen:
                seen.add(mutant)
                yield mutant
