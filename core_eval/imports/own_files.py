"""This kit's own files: traces as JSON lines, and a log as `pathrig log export --format jsonl` writes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from functools import partial
from typing import Any

from core_eval.imports.chat import read_tools
from core_eval.imports.fields import RecordError, mapping, moment, name, number, objects, whole_number, words
from core_eval.imports.record import ImportedTrace, MadeCall, Message
from core_eval.imports.registry import Importer, Read
from core_eval.imports.source import Shape, Source, record_of
from core_eval.imports.status import named_status
from core_eval.log.rows import Definition
from core_eval.traces.memo import Memo
from core_eval.traces.trace_file import read_trace

STATUS = "key status"
NO_RESULT = "no result in the log"
EXPORTED = ("scaffold", "scoring", "rig", "device", "world", "limits", "init", "status", "template_", "guard")
"""What an exported episode keeps of its log."""


def detects(shape: Shape) -> bool:
    """Tell whether records are traces or exported episodes of this kit."""
    return {"trace", "calls"} <= shape.keys or {"episode", "steps"} <= shape.keys


def read(source: Source, _join: str | None) -> Iterator[Read]:
    """Yield a reader of each line."""
    for value in source.records():
        yield partial(_trace, value)


def _trace(value: Any, number_: int) -> ImportedTrace:
    record = record_of(value)
    if "episode" in record:
        return _exported(record, number_)
    try:
        found = read_trace(record, Memo())
    except ValueError as error:
        raise RecordError(str(error)) from None
    groups: dict[Any, int] = {}
    calls = [
        MadeCall(
            call.name,
            call.arguments,
            call.status,
            STATUS,
            result=call.result,
            group=None if call.group is None else groups.setdefault(call.group, len(groups)),
            words=call.words,
            reads=call.reads,
        )
        for call in found.calls
    ]
    return ImportedTrace(
        str(found.id),
        number_,
        str(found.task),
        (),
        tuple(calls),
        tools=read_tools({"tools": list(found.tools)}),
        end=found.end,
        said=found.course.said,
        asked=found.prompt,
    )


def _exported(record: Mapping[str, Any], number_: int) -> ImportedTrace:
    episode = mapping(record, "episode")
    written = mapping(episode, "definition")
    if not isinstance(written.get("automaton"), str):
        raise RecordError("'episode.definition.automaton' is missing")
    calls: list[MadeCall] = []
    messages = [Message("user", words(written.get("prompt")))]
    for step in objects(record, "steps"):
        turn = mapping(step, "turn")
        told = named_status(step.get("status"), "status", name(step, "error_message"))
        if turn.get("text") or not messages[-1].calls or turn.get("output_tokens"):
            messages.append(_message(turn, moment(step.get("t_intent"))))
        messages[-1] = replace(messages[-1], calls=(*messages[-1].calls, len(calls)))
        calls.append(
            MadeCall(
                name(step, "tool"),
                mapping(step, "arguments"),
                None if told is None else told.status,
                NO_RESULT if told is None else told.source,
                name(step, "call_id"),
                step.get("result"),
                None if told is None else told.error,
                len(messages) - 1,
                messages[-1].text,
                idle=step.get("kind") == "loop" and step.get("symbol") is None,
                t_start=moment(step.get("t_intent")),
                t_end=moment(step.get("t_result")),
            )
        )
    if last := mapping(record, "last_turn"):
        messages.append(_message(last, None))
    definition = {one.name: written.get(one.name) for one in fields(Definition) if one.name in written}
    return ImportedTrace(
        name(episode, "id") or str(number_),
        number_,
        name(episode, "task"),
        tuple(messages),
        tuple(calls),
        reward=number(episode.get("reward")),
        agent=name(episode, "agent"),
        seed=whole_number(episode.get("seed")),
        end=name(episode, "stop_reason"),
        said=name(episode, "said"),
        failure=name(episode, "error"),
        started=moment(episode.get("started")),
        ended=moment(episode.get("ended")),
        seconds=number(episode.get("seconds")),
        logged={one: episode.get(one) for one in EXPORTED} | {"definition": definition},
    )


def _message(turn: Mapping[str, Any], at: float | None) -> Message:
    tokens = [turn.get(one) for one in ("input_tokens", "cached_tokens", "output_tokens")]
    given, cached, made = (one if isinstance(one, int) else 0 for one in tokens)
    return Message(
        "assistant", words(turn.get("text")), (), given + cached, made, number(turn.get("seconds")), at
    )


PATHRIG = Importer("pathrig", detects, read, rank=2)
