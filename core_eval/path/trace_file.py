"""Reads traces and writes scores as JSON lines.

All functions work on iterables of lines and hold one line at a time, so a file of any length streams through.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from core_eval.path.automaton import TaskAutomaton
from core_eval.path.calls import Call, CallStatus
from core_eval.path.foreign_json import ForeignJsonError, parse_json
from core_eval.path.scorer import Scores, score_path

SCORE_NAMES = (
    "path_correctness",
    "pc_ktc",
    "prefix_criticality",
    "harmful_calls",
    "harmful_call_rate",
    "efficiency",
    "path_correctness_hlr",
    "accepted",
    "exact",
)
"""The names of a scores line, in order."""

_TRACE_KEYS = frozenset({"trace", "task", "calls"})
_CALL_KEYS = frozenset({"name", "arguments", "status"})


@dataclass(frozen=True)
class Trace:
    """One trace of a file; `id` and `task` are as they were written."""

    id: Any
    task: Any
    calls: tuple[Call, ...]


@dataclass(frozen=True)
class BadTrace:
    """A malformed line and its fault, with file and line; `id` and `task` as far as they are known."""

    id: Any
    task: Any
    error: str


def read_traces(lines: Iterable[str | bytes], *, file: str) -> Iterator[Trace | BadTrace]:
    """Yield the traces of a file's lines in order; blank lines are skipped, bad ones become BadTrace."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _trace(line, f"{file}, line {number}")


def _trace(line: str | bytes, where: str) -> Trace | BadTrace:
    try:
        record = parse_json(line)
    except ForeignJsonError as error:
        return BadTrace(None, None, f"{where}: {error}")
    if not isinstance(record, dict):
        return BadTrace(None, None, f"{where}: must be an object with trace, task and calls")
    ident, task = record.get("trace"), record.get("task")
    try:
        _check_keys(record, _TRACE_KEYS)
        for key in ("trace", "task"):
            if not isinstance(record.get(key), str | int):
                raise ValueError(f"'{key}' must be a string or a number")
        calls = record.get("calls")
        if not isinstance(calls, list):
            raise ValueError("'calls' must be a list")
        return Trace(ident, task, tuple(_call(call, place) for place, call in enumerate(calls)))
    except ValueError as error:
        return BadTrace(ident, task, f"{where}: {error}")


def _call(record: Any, place: int) -> Call:
    where = f"call {place}: "
    if not isinstance(record, dict) or not isinstance(record.get("name"), str):
        raise ValueError(f"{where}must be an object with the tool's 'name'")
    _check_keys(record, _CALL_KEYS, where)
    arguments = record.get("arguments", {})
    if not isinstance(arguments, dict):
        raise ValueError(f"{where}'arguments' must be an object")
    status = record.get("status", CallStatus.OK)
    if status not in list(CallStatus):
        raise ValueError(f"{where}'status' must be one of {', '.join(CallStatus)}, not {status!r}")
    return Call(record["name"], arguments, CallStatus(status))


def _check_keys(record: Mapping[str, Any], known: frozenset[str], where: str = "") -> None:
    if not record.keys() <= known:
        unknown = next(key for key in record if key not in known)
        raise ValueError(f"{where}unknown key {unknown!r}; the keys are {', '.join(sorted(known))}")


def score_traces(
    traces: Iterable[Trace | BadTrace],
    automata: Mapping[str, TaskAutomaton],
    *,
    malformed: Mapping[str, Sequence[str]] = MappingProxyType({}),
    beta: float = 0.5,
    lam: float = 0.5,
    faults_are_harm: bool = False,
) -> Iterator[dict[str, Any]]:
    """Yield a scores record for each trace, in order, or one with its fault.

    `automata` are keyed by prompt_id as text; `malformed` holds the faults of the task file's other records.
    Raises ValueError for `beta` or `lam` out of range.
    """
    for trace in traces:
        if isinstance(trace, BadTrace):
            yield {"trace": trace.id, "task": trace.task, "error": trace.error}
            continue
        name = str(trace.task)
        automaton = automata.get(name)
        if automaton is None:
            known = "not in the task file"
            if name in malformed:
                known = f"malformed in the task file: {'; '.join(malformed[name])}"
            yield {"trace": trace.id, "task": trace.task, "error": f"task {trace.task!r} is {known}"}
            continue
        scores = score_path(automaton, trace.calls, beta=beta, lam=lam, faults_are_harm=faults_are_harm)
        yield {"trace": trace.id, "task": trace.task, **score_record(scores)}


def score_record(scores: Scores) -> dict[str, Any]:
    """Return scores under the names of a scores line; `bounds` is added where a score is not exact."""
    record = {name: getattr(scores, name) for name in SCORE_NAMES}
    if scores.bounds:
        record["bounds"] = {name: list(limits) for name, limits in scores.bounds.items()}
    return record
