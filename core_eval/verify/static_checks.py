"""Checks of a task without a simulator: against its automaton, its device type and a rig's file."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from configs.rig_config import fitted_tools
from configs.rigs_loader import load_rig
from configs.task import Task
from core_eval.call_status import CallStatus
from core_eval.path.automaton import TaskAutomaton
from core_eval.path.calls import Call
from core_eval.path.scorer import score_path
from core_eval.text.streams import STREAMS, stream
from core_eval.verify.task import BOUND, Verification, golden_sample, mutants, score_faults
from core_eval.verify.trials import example_calls
from devices.outcome import Outcome
from devices.tool import ArgumentsError
from firmware_bridge.guard import Envelope
from sims.simulator import Simulator

NOTE = "nothing was run: goal and harm were not checked"


@dataclass(frozen=True)
class Site:
    """The limits of a rig's file: the tools that its hardware has (None: all), and its envelope."""

    tools: frozenset[str] | None = None
    envelope: Envelope | None = None

    @classmethod
    def of(cls, rig: str) -> Site:
        """Return the limits of a rig, by its name, file or URL; raises ConfigError."""
        config = load_rig(rig)
        return cls(fitted_tools(config), Envelope(config.envelope))


def verify_static(task: Task, site: Site | None = None, seed: int = 0) -> Verification:
    """Check golden paths and mutants of them against the device type, its rules and the rig's file."""
    rng = random.Random(stream(STREAMS, seed, "verify", task.id))
    site = site or Site()
    task = task.on_hardware(site.tools)
    paths, sampled = golden_sample(task.automaton, rng)
    faults: list[str] = []
    for path in paths:
        calls = example_calls(task.automaton, path, task.offered)
        found = [*_refusals(task, site, calls), *score_faults(task, calls)]
        faults += (f"golden path {' '.join(path)}: {fault}" for fault in found)
    changed = list(islice(mutants(paths, rng), BOUND))
    for mutant in changed:
        calls = example_calls(task.automaton, mutant, task.offered)
        scores = score_path(task.automaton, calls)
        if not scores.accepted or scores.harmful_calls:
            continue
        refused = next(_refusals(task, site, calls), None)
        if refused is not None:
            faults.append(f"too wide: accepts {' '.join(mutant)}, but {refused}")
        elif scores.path_correctness == 1.0 and not sampled:
            faults.append(f"too wide: {' '.join(mutant)} is no golden path, but scores 1")
    remarks = (*task.automaton.warnings, NOTE)
    return Verification(task.id, len(paths), sampled, len(changed), tuple(dict.fromkeys(faults)), remarks)


def missing_tools(automaton: TaskAutomaton, tools: frozenset[str]) -> tuple[str, ...]:
    """Return the task's tools that are not in `tools`; none if some golden path does not need them."""
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


def _refusals(task: Task, site: Site, calls: Sequence[Call]) -> Iterator[str]:
    """Yield why calls would be refused on a rig that was just stopped; unknown registers refuse none."""
    rules = task.device.rules
    known = None if rules is None else rules.known_state(stopped=True)
    for k, call in enumerate(calls):
        try:
            typed = task.offered.validate(call.name, call.arguments)
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
        violation = known.limit_violation(call.name, arguments)
        if violation is not None:
            yield f"call {k} ({call.name}) is beyond a limit: {violation}"
        known.on_outcome(call.name, arguments, Outcome(CallStatus.OK))


def check_conditions(
    task: Task, paths: Sequence[Sequence[str]], _simulator: Simulator[Any], _seed: int
) -> tuple[list[str], list[str]]:
    """Return faults: a limit below the plan, a caution that is never judged, a way left out of no tool."""
    return list(_condition_faults(task, paths)), []


def _condition_faults(task: Task, paths: Sequence[Sequence[str]]) -> Iterator[str]:
    longest, steps = max(map(len, paths), default=0), task.limits.steps
    if steps is not None and steps < longest:
        yield f"limits.steps {steps} is below the {longest} calls of a golden path"
    planned = {symbol.tool for symbol in task.automaton.symbols.values()}
    for caution in task.cautions:
        judged = caution.before or caution.after
        if task.answer is None and judged not in planned:
            yield f"caution {caution.name}: the plan has no call of {judged}, so that it is never judged"
    for way in task.left_out:
        for tool in way.tools:
            if tool not in task.offered.by_name:
                yield f"left_out: there is no tool {tool!r}"
