"""OpenTelemetry: spans in OTLP's JSON with the names of the GenAI semantic conventions."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from core_eval.call_status import CallStatus
from core_eval.imports.chat import Chat, arguments_of, read_chat, read_tools
from core_eval.imports.fields import RecordError, count, kind, listed, mapping, objects, parsed, words
from core_eval.imports.record import NO_ANSWER, ImportedTrace, MadeCall, Message
from core_eval.imports.registry import Importer, Read
from core_eval.imports.source import Shape, Source, record_of
from core_eval.imports.status import Told, named_status, told_by
from core_eval.text.json_text import to_json

FAILED = (2, "STATUS_CODE_ERROR")
"""Codes of a span's status."""
CHATS = frozenset({"chat", "text_completion", "generate_content"})
AGENT, TOOL = "invoke_agent", "execute_tool"
OWN = "pathrig."
MOST_DEPTH = 20
"""Nesting of attributes' values."""
UNANSWERED = "no_result"
"""The type of error with which this kit's own export marks a call whose result never came."""
FAILURES: Mapping[str, CallStatus] = {"timeout": CallStatus.FAULT}


@dataclass(frozen=True)
class _Span:
    """A span.

    Attributes:
        what: the GenAI operation.
        start, end: UTC epoch, s; None where they are missing.
    """

    what: str
    start: float | None
    end: float | None
    values: Mapping[str, Any]
    failed: bool
    message: str | None


def detects(shape: Shape) -> bool:
    """Tell whether records hold spans."""
    return bool(shape.keys & {"resourceSpans", "resource_spans"})


def read(source: Source, _join: str | None) -> Iterator[Read]:
    """Yield a reader of each trace. Its spans may stand anywhere: they wait in a file until all are read."""
    with tempfile.TemporaryDirectory(prefix="pathrig.import.") as folder:
        kept = sqlite3.connect(Path(folder) / "spans.db", isolation_level=None)
        try:
            kept.execute("CREATE TABLE span (trace TEXT, start INTEGER, span TEXT)")
            kept.execute("BEGIN")
            broken = 0
            for spans in _of_resources(source):
                try:
                    kept.executemany("INSERT INTO span VALUES (?, ?, ?)", list(_rows(spans)))
                except RecordError as error:
                    broken += 1
                    yield partial(_refuse, str(error))
            kept.execute("CREATE INDEX place ON span (trace, start)")
            for (trace,) in kept.execute(
                "SELECT trace FROM span GROUP BY trace ORDER BY min(rowid)"
            ).fetchall():
                sql = "SELECT span FROM span WHERE trace = ? ORDER BY start, rowid"
                texts = [text for (text,) in kept.execute(sql, (trace,))]
                yield partial(_trace, trace, texts)
        finally:
            kept.close()


def _refuse(why: str, _number: int) -> ImportedTrace:
    raise RecordError(why)


def _of_resources(source: Source) -> Iterator[Any]:
    for key, value, of_list in source.items():
        if key is not None:
            if of_list and key in ("resourceSpans", "resource_spans"):
                yield value
        elif isinstance(value, Mapping) and isinstance(
            spans := value.get("resourceSpans", value.get("resource_spans")), list
        ):
            yield from spans
        else:
            yield value


def _rows(resource: Any) -> Iterator[tuple[str, int, str]]:
    """Yield trace, start and text of the GenAI spans of a resource."""
    for scope in objects(record_of(resource), "scopeSpans") or objects(resource, "scope_spans"):
        for span in objects(scope, "spans"):
            trace = span.get("traceId", span.get("trace_id"))
            if not isinstance(trace, str):
                raise RecordError(f"'traceId' of a span must be a text, not {kind(trace)}")
            values = _attributes(span)
            if any(key.startswith("gen_ai.") for key in values):
                status = mapping(span, "status")
                failed = status.get("code") in FAILED
                start, end = (_nanoseconds(span.get(f"{one}TimeUnixNano")) for one in ("start", "end"))
                kept = [start, end, values, failed, status.get("message")]
                yield trace, start or 0, to_json(kept)


def _nanoseconds(value: Any) -> int | None:
    try:
        found = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if 0 < found < 2**63 else None


def _attributes(span: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for one in objects(span, "attributes"):
        key = one.get("key")
        if isinstance(key, str):
            found[key] = _value(one.get("value"), MOST_DEPTH)
    return found


def _value(value: Any, depth: int) -> Any:
    """Return a value of OTLP's JSON; its whole numbers are texts."""
    if not isinstance(value, Mapping) or len(value) != 1 or not depth:
        return None
    ((what, held),) = value.items()
    if what == "intValue":
        try:
            return int(held)
        except (TypeError, ValueError):
            return None
    if what == "arrayValue" and isinstance(held, Mapping):
        return [_value(item, depth - 1) for item in listed(held, "values")]
    if what == "kvlistValue" and isinstance(held, Mapping):
        return {str(one.get("key")): _value(one.get("value"), depth - 1) for one in objects(held, "values")}
    return held


def _trace(ident: str, texts: Sequence[str], number_: int) -> ImportedTrace:
    spans = [_span(*parsed(text)) for text in texts]
    chat = _spoken(spans)
    top = next((one for one in spans if one.what == AGENT), None)
    said = {} if top is None else top.values
    chats = [one.values for one in spans if one.what in CHATS]
    every = [said, *chats]
    own = {key.removeprefix(f"{OWN}episode."): value for key, value in said.items() if key.startswith(OWN)}
    failed = None if top is None or not top.failed else top.message or "error"
    starts, ends = (
        [t for t in times if t] for times in zip(*((one.start, one.end) for one in spans), strict=True)
    )
    started, ended = min(starts, default=None), max(ends, default=None)
    tools = next(
        (one["gen_ai.tool.definitions"] for one in every if one.get("gen_ai.tool.definitions")), None
    )
    seed = own.get("seed")
    return ImportedTrace(
        ident,
        number_,
        own.get("task") if isinstance(own.get("task"), str) else None,
        tuple(chat.messages),
        tuple(chat.calls),
        tools=read_tools({"tools": found}) if isinstance(found := parsed(tools), list) else (),
        agent=_text(said, "gen_ai.agent.name") or next(filter(None, map(_model, every)), None),
        seed=seed if isinstance(seed, int) else None,
        end=_text(own, "stop_reason") or ("done" if failed is None else None),
        said=_text(own, "said"),
        failure=failed,
        started=started,
        ended=ended,
        seconds=None if started is None or ended is None else ended - started,
    )


def _span(start: Any, end: Any, values: Mapping[str, Any], failed: bool, message: Any) -> _Span:
    what = _text(values, "gen_ai.operation.name") or ""
    if what not in (*CHATS, AGENT) and _text(values, "gen_ai.tool.name"):
        # Some leave the operation out, or have their own word for it.
        what = TOOL
    elif what not in (*CHATS, AGENT) and values.get("gen_ai.output.messages"):
        what = "chat"
    return _Span(
        what,
        None if start is None else start / 1e9,
        None if end is None else end / 1e9,
        values,
        bool(failed),
        message if isinstance(message, str) and message else None,
    )


def _spoken(spans: Sequence[_Span]) -> Chat:
    """Return messages and calls: those of tool spans, or where there are none those of the messages."""
    chats = [one for one in spans if one.what in CHATS]
    opening = next((one.values for one in spans if one.values.get("gen_ai.input.messages")), {})
    told = [
        {"role": "system", "content": parsed(opening.get("gen_ai.system_instructions"))},
        *_messages(opening, "gen_ai.input.messages"),
    ]
    told = [one for one in told if one["content"] or one.get("tool_calls")]
    if not any(one.what == TOOL for one in spans):
        # Each chat gets all that was said before it: the last one tells all but its own answer.
        last = chats[-1].values if chats else {}
        before = _messages(last, "gen_ai.input.messages")
        system = [one for one in told if one["role"] == "system"][:1] if before else told
        return read_chat([*system, *before, *_messages(last, "gen_ai.output.messages")], "messages")
    chat = read_chat([one for one in told if one["role"] in ("system", "user")])
    for span in spans:
        if span.what in CHATS:
            chat.messages.append(_answer(span))
            told_status = named_status(span.values.get(f"{OWN}turn.status"), f"{OWN}turn.status")
            if told_status is not None:
                _add(chat, MadeCall(None, {}, told_status.status, told_status.source))
        elif span.what == TOOL:
            _add(chat, _call(span))
    return chat


def _add(chat: Chat, call: MadeCall) -> None:
    """Add a call to the last message of the agent; what one answer asks for is one group."""
    place = len(chat.messages) - 1
    while place >= 0 and chat.messages[place].role != "assistant":
        place -= 1
    if place < 0:
        chat.messages.append(Message("assistant", ""))
        place = len(chat.messages) - 1
    message = chat.messages[place]
    chat.calls.append(replace(call, group=place, words=message.text))
    chat.messages[place] = replace(message, calls=(*message.calls, len(chat.calls) - 1))


def _answer(span: _Span) -> Message:
    said = _messages(span.values, "gen_ai.output.messages")
    return Message(
        "assistant",
        "\n".join(filter(None, (words(one["content"]) for one in said))),
        (),
        count(span.values.get("gen_ai.usage.input_tokens")),
        count(span.values.get("gen_ai.usage.output_tokens")),
        None if span.start is None or span.end is None else span.end - span.start,
        span.start,
    )


def _call(span: _Span) -> MadeCall:
    values = span.values
    tool = _text(values, "gen_ai.tool.name")
    if tool is None:
        raise RecordError("'gen_ai.tool.name' is missing of a span that executes a tool")
    given = values.get("gen_ai.tool.call.arguments")
    arguments, fault = arguments_of(given)
    if fault is not None and isinstance(given, str):
        # What instruments a program may write one argument as it is: that is no fault of the agent.
        arguments, fault = {"arguments": given}, None
    result = values.get("gen_ai.tool.call.result")
    told = fault or _status(span, result)
    unanswered = values.get("error.type") == UNANSWERED
    return MadeCall(
        tool,
        arguments,
        None if unanswered else told.status,
        NO_ANSWER if unanswered else told.source,
        _text(values, "gen_ai.tool.call.id"),
        parsed(result),
        told.error,
        idle=values.get(f"{OWN}step.kind") == "loop" and values.get(f"{OWN}step.symbol") is None,
        t_start=span.start,
        t_end=span.end,
    )


def _status(span: _Span, result: Any) -> Told:
    own = named_status(span.values.get(f"{OWN}step.status"), f"{OWN}step.status", span.message)
    if own is not None:
        return own
    error = _text(span.values, "error.type")
    if error is not None:
        return Told(FAILURES.get(error, CallStatus.REJECTED), "key error.type", span.message or error)
    if span.failed:
        return Told(CallStatus.REJECTED, "key status.code", span.message)
    return told_by({}, result)


def _messages(values: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """Return messages of the conventions, whose parts say what they are, as chat messages."""
    found: list[dict[str, Any]] = []
    written = parsed(values.get(key))
    for message in written if isinstance(written, list) else ():
        if not isinstance(message, Mapping):
            raise RecordError(f"a message of {key!r} must be an object, not {kind(message)}")
        parts = objects(message, "parts") or [{"type": "text", "content": message.get("content")}]
        said = [one for one in parts if one.get("type") == "text" and one.get("content")]
        calls = [one for one in parts if one.get("type") == "tool_call"]
        if said or calls:
            found.append({"role": message.get("role"), "content": said, "tool_calls": calls})
        found += [
            {"role": "tool", "tool_call_id": one.get("id"), "content": one.get("response", one.get("result"))}
            for one in parts
            if one.get("type") == "tool_call_response"
        ]
    return found


def _text(values: Mapping[str, Any], key: str) -> str | None:
    value = values.get(key)
    return value if isinstance(value, str) and value else None


def _model(values: Mapping[str, Any]) -> str | None:
    return _text(values, "gen_ai.response.model") or _text(values, "gen_ai.request.model")


OTEL = Importer("otel", detects, read, rank=0)
