"""What can be told of a task without a simulator: by its automaton, its device type, and a rig's file."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from configs.tasks_loader import Task
from core_eval.harness.verify import (
    MUTANTS,
    Verification,
    example_calls,
    golden_sample,
    mutants,
    score_faults,
)
from core_eval.path import Call, TaskAutomaton, score_path
from core_eval.path.calls import CallStatus
from devices.outcome import Outcome
from devices.tool import ArgumentsError
from firmware_bridge.envelope import Envelope

NOTE = "nothing was run: whether the calls reach a goal, and what harm they do, is not known"


@dataclass(frozen=True)
class Site:
    """What a rig's file adds: the tools that its hardware has (None: all), and its envelope."""

    tools: frozenset[str] | None = None
    envelope: Envelope | None = None


def verify_static(task: Task, site: Site | None = None, seed: int = 0) -> Verification:
    """Check golden paths and mutants of them against the device type, its rules and the rig's file."""
    rng = random.Random(seed)
    site = site or Site()
    task = task.on_hardware(site.tools)
    paths, sampled = golden_sample(task.automaton, rng)
    faults: list[str] = []
    for path in paths:
        calls = example_calls(task.automaton, path)
        told = [*_refused(task, site, calls), *score_faults(task, calls)]
        faults += (f"golden path {' '.join(path)}: {fault}" for fault in told)
    changed = list(islice(mutants(paths, rng), MUTANTS))
    for mutant in changed:
        calls = example_calls(task.automaton, mutant)
        scores = score_path(task.automaton, calls)
        if not scores.accepted or scores.harmful_calls:
            continue
        refused = next(_refused(task, site, calls), None)
        if refused is not None:
            faults.append(f"too wide: accepts {' '.join(mutant)}, but {refused}")
        elif scores.path_correctness == 1.0 and not sampled:
            faults.append(f"too wide: {' '.join(mutant)} is no golden path, and scores 1")
    remarks = (*task.automaton.warnings, NOTE)
    return Verification(task.id, len(paths), sampled, len(changed), tuple(dict.fromkeys(faults)), remarks)


def unfitted(automaton: TaskAutomaton, tools: frozenset[str]) -> tuple[str, ...]:
    """The tools that the task needs and these are not; none where a golden path does without."""
    seen, todo = {automaton.start}, [automaton.start]
    lacking: dict[str, None] = {}
    while todo:
        for symbol, target in automaton.progress[todo.pop()]:
            tool = automaton.symbols[symbol].tool
            if tool not in tools:
                lacking[tool] = None
            elif target not in seen:
                seen.add(target)
                todo.append(target)
    return () if seen & automaton.accepting else tuple(lacking)


def _refused(task: Task, site: Site, calls: Sequence[Call]) -> Iterator[str]:
    """What speaks against each call, on a rig that has just been stopped; unknown registers do not."""
    rules = task.device.rules
    known = None if rules is None else rules.known_state(stopped=True)
    for k, call in enumerate(calls):
        try:
            typed = task.device.validate(call.name, call.arguments)
        except ArgumentsError as error:
            yield f"call {k} ({call.name}) is invalid: {error}"
            continue
        arguments = typed.model_dump()
        outside = None if site.envelope is None else site.envelope.leaves(call.name, arguments)
        if outside is not None:
            yield f"call {k} ({call.name}) leaves the rig's envelope: {outside}"
        if known is None:
            continue
        refusal = known.refusal(call.name, arguments)
        if refusal is not None:
            yield f"call {k} ({call.name}) is refused, {refusal.code}: {refusal.message}"
        beyond = known.limit_violation(call.name, arguments)
        if beyond is not None:
            yield f"call {k} ({call.name}) is beyond a limit: {beyond}"
        known.on_outcome(call.name, arguments, Outcome(CallStatus.OK))
