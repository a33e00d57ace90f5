"""OpenAI: messages of chat completions, and items of the Responses API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from core_eval.imports.chat import Chat, read_chat, read_tools
from core_eval.imports.fields import (
    RecordError,
    kind,
    listed,
    mapping,
    moment,
    name,
    number,
    objects,
    whole_number,
)
from core_eval.imports.record import ImportedTrace, MadeCall, Message
from core_eval.imports.registry import Importer, Read
from core_eval.imports.source import Shape, Source, record_of

CHATS = ("messages", "traj", "trajectory", "conversation")
"""The keys under which records hold their messages."""
ITEMS = frozenset({"output", "items"})
"""The keys under which responses hold their items."""
SEEDS = ("seed", "trial", "epoch")
"""The keys under which records tell which repeat they are, the best first."""


def detects(shape: Shape) -> bool:
    """Tell whether records have messages, or responses; or are messages themselves."""
    if shape.form == "zip":
        return False
    return bool(shape.keys & {*CHATS, "role", "choices"}) or bool(
        shape.keys & ITEMS and shape.keys & {"input", "instructions", "object", "model"}
    )


def read(source: Source, _join: str | None) -> Iterator[Read]:
    """Yield a reader of each record: one line, one element of an array, or the whole document."""
    if "role" in source.shape.keys:
        yield partial(trace, {CHATS[0]: list(source.records())})
        return
    for value in source.records():
        yield partial(trace, value)


def trace(value: Any, number_: int) -> ImportedTrace:
    """Return the trace of a record.

    Raises:
        RecordError: it has no messages, or one that is broken.
    """
    record = record_of(value)
    request, response = mapping(record, "request"), mapping(record, "response")
    whole = {**record, **request, **response} if request or response else record
    chat = _chat(whole)
    notes = mapping(record, "metadata")
    reward = number(record.get("reward", record.get("score")))
    return ImportedTrace(
        name(record, "id", "trace_id", "uuid") or str(number_),
        number_,
        name(record, "task", "task_id") or name(notes, "task", "task_id"),
        tuple(chat.messages),
        tuple(chat.calls),
        tools=read_tools(whole),
        reward=reward if reward is not None else number(notes.get("reward")),
        agent=name(whole, "agent", "model"),
        seed=next((one for key in SEEDS if (one := whole_number(record.get(key))) is not None), None),
        said=name(record, "said"),
        end=name(record, "end") or _end(chat.messages, chat.calls),
        started=moment(whole.get("created_at", whole.get("created"))),
    )


def _chat(record: Mapping[str, Any]) -> Chat:
    for key in CHATS:
        if record.get(key) is not None:
            answers = [choice.get("message") for choice in objects(record, "choices")[:1]]
            return read_chat([*listed(record, key), *answers], key)
    if any(record.get(key) is not None for key in ITEMS):
        return read_chat(list(_from_items(record)), "items")
    raise RecordError(f"one of {', '.join((*CHATS, *sorted(ITEMS)))} must hold the messages")


def _from_items(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the items of a response as messages; the calls of one answer are of one message."""
    if isinstance(told := record.get("instructions"), str):
        yield {"role": "system", "content": told}
    given = record.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else list(listed(record, "input"))
    items += [item for key in sorted(ITEMS) for item in listed(record, key)]
    turn: dict[str, Any] = {}
    for item in items:
        if not isinstance(item, Mapping):
            raise RecordError(f"an item must be an object, not {kind(item)}")
        what = item.get("type", "message")
        if what == "function_call":
            turn = turn or {"role": "assistant"}
            turn.setdefault("tool_calls", []).append({**item, "id": item.get("call_id", item.get("id"))})
        elif what in ("message", "function_call_output"):
            if turn:
                yield turn
            turn = dict(item) if item.get("role") == "assistant" else {}
            if what == "function_call_output":
                yield {"role": "tool", "tool_call_id": item.get("call_id"), "content": item.get("output")}
            elif not turn:
                yield item
    if turn:
        yield turn


def _end(messages: Sequence[Message], calls: Sequence[MadeCall]) -> str | None:
    """An agent that speaks last, without a call, is done."""
    last = messages[-1] if messages else None
    return "done" if last is not None and last.role == "assistant" and not last.calls and calls else None


OPENAI = Importer("openai", detects, read, rank=9)
