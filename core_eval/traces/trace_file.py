"""Reads traces from JSON lines, one line at a time, so that a file of any length streams through."""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from core_eval.call_status import CallStatus
from core_eval.path.calls import Call
from core_eval.text.foreign_json import ForeignJsonError, parse_json
from core_eval.traces.memo import Memo

_TRACE_KEYS = frozenset({"trace", "task", "calls", "end", "prompt", "tools"})
_CALL_KEYS = frozenset({"name", "arguments", "status", "result", "effect", "group", "words", "heard"})
_USUAL = 3
"""Keys that most calls have: name, arguments and status."""
_STATUSES = {status.value: status for status in CallStatus}
EFFECTS = ("read", "write", "motion", "safe")
"""What a call may say that it does."""
BY_AGENT = ("done", "decline")
LIMITS = ("limit", "max_steps", "max_tokens", "max_time", "context")
"""How a trace may end: by the agent, or at a limit."""
KEPT_BYTES = 4096
"""Larger courses are not kept for the case that they come again."""


@dataclass(frozen=True, slots=True)
class Course:
    """What was done in a trace; traces that do the same may share it.

    Attributes:
        calls: the calls in order.
        end: how it ended, of `BY_AGENT` and `LIMITS`; None where it does not say.
        said: why it declined, or its answer; None where it does not say.
    """

    calls: tuple[Call, ...]
    end: str | None = None
    said: str | None = None

    def identity(self) -> int:
        """Return 64 bits that identical courses share, in any process: same calls and results, and end."""
        calls = [
            (call.name, call.status._value_, sorted(call.arguments.items()), call.result)
            for call in self.calls
        ]
        written = marshal.dumps((calls, self.end, self.said), _WITHOUT_REFERENCES)
        if _DICT in written:
            nested = [
                (name, status, _in_order(items), _in_order(result)) for name, status, items, result in calls
            ]
            written = marshal.dumps((nested, self.end, self.said), _WITHOUT_REFERENCES)
        return int.from_bytes(blake2b(written, digest_size=8).digest(), signed=True)


@dataclass(slots=True)
class Trace:
    """One trace of a file; `id` and `task` are as they were written.

    Attributes:
        prompt: what the agent was given at first; empty where the file does not say.
        tools: the schemas of its tools, as in the OpenAI API.
    """

    id: Any
    task: Any
    course: Course
    prompt: str = ""
    tools: tuple[Mapping[str, Any], ...] = ()

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls in order."""
        return self.course.calls

    @property
    def end(self) -> str | None:
        """How it ended; None where it does not say."""
        return self.course.end


_WITHOUT_REFERENCES = 2
"""The version of `marshal` in which equal values have equal bytes. They tell `True` from `1`."""
_DICT = b"{"
"""With which it begins a dictionary; a text may have it, too."""


def _in_order(value: Any) -> Any:
    """Return a JSON value that does not depend on the order of keys, but for those of a list of items."""
    if isinstance(value, dict):
        value = sorted(value.items())
    if isinstance(value, list):
        return [_in_order(item) for item in value]
    return (value[0], _in_order(value[1])) if isinstance(value, tuple) else value


@dataclass(frozen=True)
class BadTrace:
    """A malformed line and its fault, with file and line; `id` and `task` as far as they are known."""

    id: Any
    task: Any
    error: str


def read_traces(lines: Iterable[str | bytes], *, file: str, first: int = 1) -> Iterator[Trace | BadTrace]:
    """Yield the traces of a file's lines in order; blank lines are skipped, bad ones become BadTrace.

    `first` is the number of the first line in its file.
    """
    courses: Memo[bytes, Course] = Memo()
    for number, line in enumerate(lines, first):
        if line.strip():
            try:
                record = parse_json(line)
            except ForeignJsonError as error:
                yield BadTrace(None, None, f"{file}, line {number}: {error}")
                continue
            try:
                yield read_trace(record, courses)
            except ValueError as error:
                ident, task = (
                    (record.get("trace"), record.get("task")) if isinstance(record, dict) else (None, None)
                )
                yield BadTrace(ident, task, f"{file}, line {number}: {error}")


def read_trace(record: Any, courses: Memo[bytes, Course]) -> Trace:
    """Return the trace of a record; its calls are those of an equal one among `courses`.

    Raises:
        ValueError: the record has another form.
    """
    if not isinstance(record, dict):
        raise ValueError("must be an object with trace, task and calls")
    ident, task, calls = record.get("trace"), record.get("task"), record.get("calls")
    _check_keys(record, _TRACE_KEYS)
    for key, value in (("trace", ident), ("task", task)):
        if not isinstance(value, str | int):
            raise ValueError(f"'{key}' must be a string or a number")
    if not isinstance(calls, list):
        raise ValueError("'calls' must be a list")
    written = marshal.dumps((calls, record["end"]) if "end" in record else calls, _WITHOUT_REFERENCES)
    course = courses.get(written)
    if course is None:
        read = tuple([read_call(call, place) for place, call in enumerate(calls)])
        course = Course(read, *_end(record["end"])) if "end" in record else Course(read)
        if len(written) <= KEPT_BYTES:
            courses.keep(written, course)
    else:
        courses.hits += 1
    if "prompt" in record or "tools" in record:
        return Trace(ident, task, course, *_offered(record))
    return Trace(ident, task, course)


def _offered(record: Mapping[str, Any]) -> tuple[str, tuple[Mapping[str, Any], ...]]:
    prompt, tools = record.get("prompt", ""), record.get("tools", [])
    if not isinstance(prompt, str):
        raise ValueError("'prompt' must be a text")
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        raise ValueError("'tools' must be a list of schemas, as in the OpenAI API")
    return prompt, tuple(tools)


def read_call(record: Any, place: int) -> Call:
    """Return the call of a trace's record.

    Args:
        record: an object with name, and where given the other keys of a call.
        place: its place in the trace, for the fault.

    Raises:
        ValueError: the record has another form, or an unknown key or status.
    """
    try:
        # Most calls have just these keys, and no fault.
        name, arguments, status = record["name"], record["arguments"], _STATUSES[record["status"]]
        if len(record) == _USUAL and type(name) is str and type(arguments) is dict:
            return Call(name, arguments, status)
    except (KeyError, TypeError):
        pass
    where = f"call {place}: "
    if not isinstance(record, dict) or not isinstance(record.get("name"), str):
        raise ValueError(f"{where}must be an object with the tool's 'name'")
    _check_keys(record, _CALL_KEYS, where)
    arguments = record.get("arguments", {})
    if not isinstance(arguments, dict):
        raise ValueError(f"{where}'arguments' must be an object")
    given = record.get("status", "ok")
    told = _STATUSES.get(given) if isinstance(given, str) else None
    if told is None:
        raise ValueError(f"{where}'status' must be one of {', '.join(CallStatus)}, not {given!r}")
    if "effect" in record and record["effect"] not in EFFECTS:
        raise ValueError(f"{where}'effect' must be one of {', '.join(EFFECTS)}, not {record['effect']!r}")
    if "group" in record and not isinstance(record["group"], str | int):
        raise ValueError(f"{where}'group' must be a string or a number")
    for key in ("words", "heard"):
        if not isinstance(record.get(key, ""), str):
            raise ValueError(f"{where}'{key}' must be a text")
    return Call(
        record["name"],
        arguments,
        told,
        record.get("result"),
        reads=record.get("effect") == "read",
        group=record.get("group"),
        words=record.get("words", ""),
        heard=record.get("heard", ""),
    )


def _end(given: Any) -> tuple[str, str | None]:
    """Return how a trace ended, and what the agent said to it, as in `{"decline": "no such plant"}`."""
    if isinstance(given, dict) and len(given) == 1:
        ((kind, said),) = given.items()
        if kind == "done" or (kind == "decline" and isinstance(said, str)):
            return str(kind), None if said is None else str(said)
    elif given in (*BY_AGENT, *LIMITS):
        return str(given), None
    raise ValueError(
        f"'end' must be one of {', '.join((*BY_AGENT, *LIMITS))}, {{\"done\": ANSWER}} or "
        f'{{"decline": REASON}}, not {given!r}'
    )


def _check_keys(record: Mapping[str, Any], known: frozenset[str], where: str = "") -> None:
    if not record.keys() <= known:
        unknown = next(key for key in record if key not in known)
        raise ValueError(f"{where}unknown key {unknown!r}; the keys are {', '.join(sorted(known))}")
