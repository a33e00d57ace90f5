"""Checks of a task that asks for no call: a read tells why, and what its prompt asks to try does no harm."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from threading import Event
from typing import Any

from configs.task import Task
from core_eval.call_status import CallStatus
from core_eval.path.calls import Call
from core_eval.path.facts import LACKS
from core_eval.path.symbols import Symbol
from core_eval.verify.candidates import candidate_reads, leaves
from devices.outcome import Outcome
from sims.overrides import stack_overrides
from sims.simulator import Simulator

STEM = 5
"""By so many letters words are compared."""


def check_evidence(
    task: Task, paths: Sequence[Sequence[str]], simulator: Simulator[Any], seed: int
) -> tuple[list[str], list[str]]:
    """Return a fault where no read tells why the task is to be declined, or why nothing is to be done.

    Why it is to be declined tells a read that is refused, or whose fact names something of the prompt; that
    something is missing, one that lacks it; and any whose fact holds by the task's own initial state alone.

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
    answer = _answer(outcome)
    if not symbol.fact.holds(answer):
        return f"found_by: {symbol.name}, but the answer is {answer}"
    if task.answer != "decline" or outcome.status is not CallStatus.OK or _lacks(symbol.fact.written):
        return None
    if task.decline != "missing" and _words(_said(symbol)) & _words(_asked(task)):
        return None
    simulator.init({}, seed)
    if task.init and not symbol.fact.holds(_answer(simulator.execute(symbol.tool, arguments, Event()))):
        return None
    needs = "that something is missing" if task.decline == "missing" else "of anything that is asked for"
    return f"found_by: {symbol.name} does not tell {needs}: name a read that tells why to decline"


def _answer(outcome: Outcome) -> Any:
    refused = outcome.status is not CallStatus.OK
    return {"error": outcome.code, "message": outcome.message} if refused else outcome.value


def _lacks(written: Any) -> bool:
    """Return whether a fact is that something is not there: a value that stands nowhere, or an empty list."""
    return isinstance(written, Mapping) and (LACKS in written or any(one == [] for one in written.values()))


def _said(symbol: Symbol) -> str:
    """Return what a read is of, what it asks about, and what its fact names."""
    fact = None if symbol.fact is None else symbol.fact.written
    return " ".join(str(leaf) for leaf in leaves([*symbol.tool.split("_")[1:], symbol.example(), fact]))


def _asked(task: Task) -> str:
    """Return what the task's words ask for, and what they mention."""
    return " ".join([task.prompt, *map(str, task.mentions), *(task.operator.texts if task.operator else ())])


def _words(text: str) -> set[str]:
    """Return the words of a text by their first letters, in which forms of a word are alike."""
    return {word[:STEM] for word in re.split(r"[\W_]+", text.lower()) if len(word) > 2}
