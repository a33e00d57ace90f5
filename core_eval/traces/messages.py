"""Calls from messages of the OpenAI chat and responses APIs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from core_eval.call_status import CallStatus
from core_eval.path.calls import Call
from core_eval.text.foreign_json import ForeignJsonError, parse_json
from core_eval.traces.trace_file import read_call


def read_calls(records: Iterable[Any]) -> tuple[Call, ...]:
    """Return the calls of a path, in order.

    Args:
        records: each a `Call`, a mapping as in a trace file (name, arguments, status), a chat message with
            its `tool_calls`, or an item of the responses API. Messages and items without calls are skipped.
            Objects of the openai package are taken as they are.

    Raises:
        ValueError: one has another form or an unknown status; names its place.
    """
    return tuple(call for place, record in enumerate(records) for call in _calls(record, place))


def _calls(record: Any, place: int) -> Iterator[Call]:
    if isinstance(record, Call):
        yield record
        return
    if hasattr(record, "model_dump"):
        record = record.model_dump()
    if isinstance(record, Mapping) and "role" in record:
        for made in record.get("tool_calls") or ():
            function = made.get("function") if isinstance(made, Mapping) else None
            if not isinstance(function, Mapping):
                raise ValueError(f"call {place}: 'tool_calls' must be a list of objects with 'function'")
            yield _from_text(function, place)
    elif isinstance(record, Mapping) and "type" in record:
        if record["type"] == "function_call":
            yield _from_text(record, place)
    else:
        yield read_call(record, place)


def _from_text(function: Mapping[str, Any], place: int) -> Call:
    """Return the call of a name and arguments as JSON text; arguments that cannot be read are `invalid`."""
    name, arguments = function.get("name"), function.get("arguments")
    if not isinstance(name, str):
        raise ValueError(f"call {place}: must be an object with the tool's 'name'")
    if isinstance(arguments, str):
        try:
            arguments = parse_json(arguments) if arguments.strip() else {}
        except ForeignJsonError:
            return Call(name, {}, CallStatus.INVALID)
    if not isinstance(arguments, Mapping):
        return Call(name, {}, CallStatus.INVALID)
    return Call(name, arguments)
