"""Inspect: its eval logs, as a zip (`.eval`) or as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from core_eval.imports.chat import read_chat, read_tools
from core_eval.imports.fields import RecordError, kind, listed, mapping, moment, name, number, objects
from core_eval.imports.record import NO_ANSWER, ImportedTrace, MadeCall, ToolSpec
from core_eval.imports.registry import Importer, Read
from core_eval.imports.source import ImportFileError, Shape, Source, record_of
from core_eval.imports.status import named_status

HEADERS = ("header.json", "_journal/start.json")
"""The file of a zip that tells of the evaluation; the second one where it has not ended."""
VALUES: Mapping[str, float] = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Inspect's letters: correct, partly, incorrect, no answer."""
LIMITS: Mapping[str, str] = {
    "message": "max_steps",
    "turn": "max_steps",
    "token": "max_tokens",
    "time": "max_time",
    "working": "max_time",
    "context": "context",
}
REFERENCE = "attachment://"
OWN = "pathrig_episode"


def detects(shape: Shape) -> bool:
    """Tell whether a zip has samples, or a document an evaluation."""
    if shape.form == "zip":
        return bool(shape.names & {*HEADERS})
    return {"eval", "plan"} <= shape.keys or {"eval", "samples"} <= shape.keys


def read(source: Source, _join: str | None) -> Iterator[Read]:
    """Yield a reader of each sample."""
    if source.form == "zip":
        names = source.members()
        header = next((one for one in HEADERS if one in names), None)
        if header is None:
            raise ImportFileError("it is a zip file without an evaluation: it has no header.json")
        try:
            start = record_of(source.member(header))
        except RecordError as error:
            raise ImportFileError(str(error)) from None
        for member in sorted(one for one in names if one.startswith("samples/") and one.endswith(".json")):
            yield partial(_of_member, source, member, _evaluation(start))
        return
    members: dict[str, Any] = {}
    for key, value, of_list in source.items():
        if key == "samples" and of_list:
            yield partial(_trace, value, _evaluation(members))
        elif key is not None:
            members[key] = value


def _evaluation(start: Mapping[str, Any]) -> Mapping[str, Any]:
    found = start.get("eval")
    return found if isinstance(found, Mapping) else {}


def _of_member(source: Source, member: str, evaluation: Mapping[str, Any], number_: int) -> ImportedTrace:
    return _trace(source.member(member), evaluation, number_)


def _trace(value: Any, evaluation: Mapping[str, Any], number_: int) -> ImportedTrace:
    record = record_of(value)
    if "messages" not in record:
        raise RecordError("'messages' is missing")
    attached = mapping(record, "attachments")
    chat = read_chat(_resolved(listed(record, "messages"), attached))
    notes = mapping(record, "metadata")
    sample, task = name(record, "id"), name(evaluation, "task")
    own = notes if OWN in notes else {}
    limit, error = mapping(record, "limit"), record.get("error")
    said = error.get("message") if isinstance(error, Mapping) else error
    return ImportedTrace(
        name(record, "uuid") or f"{sample}/{record.get('epoch')}",
        number_,
        sample if own or task is None or sample == task else f"{task}/{sample}",
        tuple(chat.messages),
        tuple(_own_statuses(chat.calls, own)),
        tools=_tools(record, attached),
        reward=None if own else _reward(record),
        agent=name(mapping(evaluation, "metadata"), "agent") if own else name(evaluation, "model"),
        domain=task,
        seed=_seed(own.get("seed", record.get("epoch"))),
        end=name(own, "stop_reason") or LIMITS.get(str(limit.get("type")), "done" if not limit else "limit"),
        said=name(own, "said"),
        failure=None if not error else said if isinstance(said, str) else "error",
        started=moment(record.get("started_at")),
        ended=moment(record.get("completed_at")),
        seconds=number(record.get("total_time")),
    )


def _own_statuses(calls: Sequence[MadeCall], own: Mapping[str, Any]) -> Iterator[MadeCall]:
    """Yield the calls with the statuses that this kit's own export has, invalid ones among them."""
    steps = objects(own, "steps")
    left = iter(calls)
    for place, step in enumerate(steps):
        told = named_status(step.get("status"), "metadata.steps.status")
        if step.get("tool") is None:
            if told is not None:
                yield MadeCall(None, {}, told.status, told.source, group=-1 - place)
            continue
        call = next(left, None)
        if call is None:
            raise RecordError("metadata.steps has calls that the messages lack")
        idle = step.get("kind") == "loop" and step.get("symbol") is None
        status, source = (None, NO_ANSWER) if told is None else (told.status, told.source)
        yield replace(call, status=status, status_from=source, idle=idle)
    yield from left


def _tools(record: Mapping[str, Any], attached: Mapping[str, Any]) -> tuple[ToolSpec, ...]:
    for event in objects(record, "events"):
        if event.get("event") == "model" and event.get("tools"):
            return read_tools({"tools": _resolved(listed(event, "tools"), attached)})
    return ()


def _reward(record: Mapping[str, Any]) -> float | None:
    """Return the value of the only score; None where there are several."""
    scores = [one for one in mapping(record, "scores").values() if isinstance(one, Mapping)]
    if len(scores) != 1:
        return None
    value = scores[0].get("value")
    if isinstance(value, bool):
        return float(value)
    return VALUES.get(value) if isinstance(value, str) else number(value)


def _resolved(value: Any, attached: Mapping[str, Any]) -> Any:
    """Return a value with the long texts that a log keeps apart from it."""
    if isinstance(value, str) and value.startswith(REFERENCE):
        return attached.get(value.removeprefix(REFERENCE), value)
    if isinstance(value, list):
        return [_resolved(item, attached) for item in value]
    if isinstance(value, dict):
        return {key: _resolved(item, attached) for key, item in value.items()}
    return value


def _seed(value: Any) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise RecordError(f"'epoch' must be a whole number, not {kind(value)}")
    return value


INSPECT = Importer("inspect", detects, read, rank=1)
