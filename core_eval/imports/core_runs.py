"""CORE's runs: records that name their task by `prompt_id`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from core_eval.call_status import CallStatus
from core_eval.imports.chat import arguments_of
from core_eval.imports.fields import RecordError, name, objects
from core_eval.imports.record import ImportedTrace, MadeCall
from core_eval.imports.registry import Importer, Read
from core_eval.imports.source import Shape, Source, record_of
from core_eval.imports.status import Told, named_status

TASKS = ("prompt_id", "task", "task_id")
CALLS = ("calls", "function_calls", "tool_calls", "trace", "path", "steps")
"""The keys under which records hold their calls."""
TOOLS = ("name", "function", "tool", "function_name")
ARGUMENTS = ("arguments", "args", "parameters", "kwargs")
TAKEN = Told(CallStatus.OK, "no status in the file")


def detects(shape: Shape) -> bool:
    """Tell whether records name a prompt, and hold calls and no automaton."""
    return "prompt_id" in shape.keys and bool(shape.keys & {*CALLS}) and "nodes" not in shape.keys


def read(source: Source, _join: str | None) -> Iterator[Read]:
    """Yield a reader of each record: an element of an array, wherever it stands, or a line."""
    for value in source.records():
        yield partial(_trace, value)


def _trace(value: Any, number_: int) -> ImportedTrace:
    record = record_of(value)
    key = next((one for one in CALLS if isinstance(record.get(one), list)), None)
    if key is None:
        raise RecordError(f"one of {', '.join(CALLS)} must be the list of calls")
    calls = []
    for place, call in enumerate(objects(record, key)):
        tool = name(call, *TOOLS)
        if not tool:
            raise RecordError(f"{key}[{place}]: the tool's 'name' is missing")
        arguments, fault = arguments_of(next((call[one] for one in ARGUMENTS if one in call), None))
        said = call.get("error")
        told = fault or _status(
            call.get("status"), said if isinstance(said, str) else None, f"{key}[{place}]"
        )
        calls.append(
            MadeCall(tool, arguments, told.status, told.source, None, call.get("result"), told.error, place)
        )
    return ImportedTrace(
        name(record, "id", "run_id") or str(number_),
        number_,
        name(record, *TASKS),
        (),
        tuple(calls),
        agent=name(record, "model", "agent"),
        end="done",
        asked=name(record, "prompt") or "",
    )


def _status(word: Any, said: str | None, where: str) -> Told:
    if word is None:
        return TAKEN
    told = named_status(word, "status", said)
    if told is None:
        raise RecordError(
            f"{where}: 'status' must be ok, error, rejected, invalid, blocked or fault, not {word!r}"
        )
    return told


CORE = Importer("core", detects, read, rank=4)
