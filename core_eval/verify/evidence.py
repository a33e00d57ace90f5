"""Checks of a task that asks for no call: a read tells why, and what its prompt asks to try does no harm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from threading import Event
from typing import Any

from configs.task import Task
from core_eval.path import Call, Symbol
from core_eval.path.calls import CallStatus
from core_eval.verify.candidates import candidate_reads
from sims.overrides import stack_overrides
from sims.simulator import Simulator


def check_evidence(
    task: Task, paths: Sequence[Sequence[str]], simulator: Simulator[Any], seed: int
) -> tuple[list[str], list[str]]:
    """Return a fault where no read tells why the task is to be declined, or why nothing is to be done.

    Where nothing is to be done, the reads of the plan tell it, or any read that answers otherwise where the
    goal does not hold.
    """
    if task.answer is None:
        return [], []
    # A plan's own reads are run with its golden paths; where the task is to be declined, one tells why.
    looks = any(symbol.fact is not None for symbol in task.automaton.symbols.values())
    told = looks or (task.answer == "nothing" and (any(paths) or _can_be_read(task, simulator, seed)))
    if not task.found_by and not told:
        return [f"found_by is missing: name a read that tells why the answer is {task.answer}"], []
    untold = [fault for symbol in task.found_by if (fault := _untold(task, symbol, simulator, seed))]
    return (untold if untold and len(untold) == len(task.found_by) else []), []


def _can_be_read(task: Task, simulator: Simulator[Any], seed: int) -> bool:
    """Return whether some read answers otherwise where a key of the goal has another value."""
    simulator.init(task.init, seed)
    state = simulator.state_dict()
    reads = candidate_reads(task, state)
    told = _answers(simulator, reads)
    for key in () if task.goal is None else task.goal.patterns:
        for other in _otherwise(key, state):
            # Overrides that leave a name without its thing begin no world.
            with suppress(LookupError):
                begun = simulator.init(stack_overrides(task.init, other), seed)
                if begun.status is CallStatus.OK and _answers(simulator, reads) != told:
                    return True
    return False


def _otherwise(key: str, state: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield overrides in which the value of a dotted key is another one."""
    if key in state:
        value = state[key]
        if isinstance(value, bool):
            yield {key: not value}
        elif isinstance(value, int | float):
            yield from ({key: other} for other in (value + 1, value / 2, -value))
        elif isinstance(value, str):
            yield {key: f"{value} other"}
        else:
            yield {key: None}
    parts = key.split(".")
    for count in range(1, len(parts)):
        inner = state.get(first := ".".join(parts[:count]))
        if isinstance(inner, Mapping):
            yield {first: None}
            yield from ({first: other} for other in _otherwise(".".join(parts[count:]), inner))


def _answers(simulator: Simulator[Any], reads: Sequence[Call]) -> list[Any]:
    here, answers = simulator.snapshot(), []
    for read in reads:
        outcome = simulator.execute(read.name, read.arguments, Event())
        answers.append((outcome.code, outcome.message, outcome.value))
        simulator.restore(here)
    return answers


def _untold(task: Task, symbol: Symbol, simulator: Simulator[Any], seed: int) -> str | None:
    """Return why a read of the initial state does not tell the reason; None if it does."""
    if symbol.fact is None:
        return f"found_by: {symbol.name}: say what it tells, as {{look: {{fact: .., by: [{symbol.tool}]}}}}"
    arguments = {name: value for name, value in symbol.example().items() if value is not None}
    simulator.init(task.init, seed)
    execute = partial(simulator.execute, symbol.tool, arguments, Event())
    outcome = task.conversation().outcome(symbol.tool, arguments, execute)
    if outcome.status is CallStatus.INVALID:
        return f"found_by: {symbol.name} is invalid: {outcome.message}"
    free = symbol.tool in task.offered.reads or task.automaton.is_free(Call(symbol.tool, arguments))
    if not free:
        return f"found_by: {symbol.tool} is no read, and not among the attempts"
    refused = outcome.status is not CallStatus.OK
    answer = {"error": outcome.code, "message": outcome.message} if refused else outcome.value
    return None if symbol.fact.holds(answer) else f"found_by: {symbol.name}, but the answer is {answer}"
