"""Checks of a task that asks for no call: a read tells why, and what its prompt asks to try does no harm."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from threading import Event
from typing import Any

from configs.task import Task
from core_eval.path import Call, Symbol
from core_eval.path.calls import CallStatus
from sims.simulator import Simulator


def check_evidence(
    task: Task, paths: Sequence[Sequence[str]], simulator: Simulator[Any], seed: int
) -> tuple[list[str], list[str]]:
    """Return a fault where no read tells why the task is to be declined, or why nothing is to be done."""
    if task.answer is None:
        return [], []
    # A plan's own reads are run with its golden paths; where the task is to be declined, one tells why.
    looks = any(symbol.fact is not None for symbol in task.automaton.symbols.values())
    if not (task.found_by or looks or (task.answer == "nothing" and any(paths))):
        return [f"found_by is missing: name a read that tells why the answer is {task.answer}"], []
    untold = [fault for symbol in task.found_by if (fault := _untold(task, symbol, simulator, seed))]
    return (untold if untold and len(untold) == len(task.found_by) else []), []


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
