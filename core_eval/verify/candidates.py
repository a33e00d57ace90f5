"""Calls that a task's world makes likely: of its plan's values, and of what its words name in the state."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any, Literal, get_args, get_origin

from configs.task import Task
from core_eval.path.calls import Call
from core_eval.text.values import is_number
from devices.tool import Effect, Tool

MOST_OF_A_TOOL = 400


def candidate_writes(task: Task, state: Mapping[str, Any]) -> list[Call]:
    """Return calls of every tool that writes, with values of the plan and of the state that the prompt names.

    Of a number of the plan also the half is tried, of a text also the empty one.
    """
    return _candidates(task, state, [tool for tool in task.device.tools if tool.effect is not Effect.READ])


def candidate_reads(task: Task, state: Mapping[str, Any]) -> list[Call]:
    """Return calls of every tool that reads, with the same values."""
    return _candidates(task, state, [tool for tool in task.device.tools if tool.effect is Effect.READ])


def _candidates(task: Task, state: Mapping[str, Any], tools: Sequence[Tool]) -> list[Call]:
    values = list(_vocabulary(task, state))
    found: dict[str, Call] = {}
    for tool in tools:
        for call in calls_of(tool, values):
            found.setdefault(json.dumps([tool.name, call.arguments], sort_keys=True), call)
    return list(found.values())


def calls_of(tool: Tool, values: Sequence[Any]) -> Iterator[Call]:
    """Yield calls of a tool with each of the values that fit its arguments, up to `MOST_OF_A_TOOL`."""
    for arguments in islice(_arguments(tool, values), MOST_OF_A_TOOL):
        yield Call(tool.name, arguments)


def _vocabulary(task: Task, state: Mapping[str, Any]) -> Iterator[Any]:
    yield ""
    for symbol in task.automaton.symbols.values():
        for value in symbol.example().values():
            yield value
            if is_number(value):
                yield value / 2
    for value in leaves(state):
        if isinstance(value, str) and re.search(rf"(?<!\w){re.escape(value)}(?!\w)", task.prompt):
            yield value


def _arguments(tool: Tool, values: Sequence[Any]) -> Iterator[dict[str, Any]]:
    fields = tool.arguments.model_fields
    choices = [fitting(field.annotation, values) for field in fields.values()]
    for chosen in product(*choices):
        yield dict(zip(fields, chosen, strict=True))


def fitting(annotation: Any, values: Sequence[Any]) -> list[Any]:
    """Return the values that fit an argument's type, each once; all of one with few values."""
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    if annotation is bool:
        return [False, True]
    kinds: tuple[type, ...] = {str: (str,), int: (int,), float: (int, float)}.get(annotation, (list,))
    fit = {
        json.dumps(value): value
        for value in values
        if isinstance(value, kinds) and not isinstance(value, bool)
    }
    return list(fit.values())


def leaves(value: Any) -> Iterator[Any]:
    """Yield the keys and plain values of a JSON-ready value."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield key
            yield from leaves(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from leaves(inner)
    else:
        yield value
