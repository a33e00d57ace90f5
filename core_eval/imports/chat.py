"""Messages of a chat, as most formats hold them, as messages and calls of the one form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from core_eval.call_status import CallStatus
from core_eval.imports.fields import (
    RecordError,
    count,
    kind,
    listed,
    mapping,
    moment,
    name,
    number,
    objects,
    parsed,
    words,
)
from core_eval.imports.record import NO_ANSWER, MadeCall, Message, ToolSpec
from core_eval.imports.status import Told, told_by
from core_eval.text.foreign_json import ForeignJsonError, parse_json

ROLES: Mapping[str, str] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "tool": "tool",
    "function": "tool",
}
NO_RESULTS = "no results in the file"
"""Where the statuses of a trace come from whose file has no answer to any call: they are taken as done."""


class Chat:
    """A chat that is read message by message.

    Attributes:
        messages, calls: of the one form.
    """

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.calls: list[MadeCall] = []
        self._open: list[int] = []
        self._answered = False

    def add(self, raw: Any, where: str) -> None:
        """Take a message.

        Raises:
            RecordError: it is none; the text begins with `where`.
        """
        if not isinstance(raw, Mapping):
            raise RecordError(f"{where} must be an object, not {kind(raw)}")
        try:
            role = ROLES.get(str(raw.get("role")).lower())
            if role is None:
                raise RecordError(f"'role' must be one of {', '.join(ROLES)}, not {raw.get('role')!r}")
            if role == "tool":
                for answer in objects(raw, "tool_messages") or [raw]:
                    self._answer(answer)
            else:
                self._say(raw, role)
        except RecordError as error:
            raise RecordError(f"{where}: {error}") from None

    def finish(self) -> None:
        """Settle the calls that were not answered: unknown, or done where the file has no answers at all."""
        for place in self._open:
            if self.calls[place].status is None and not self._answered:
                self.calls[place] = replace(self.calls[place], status=CallStatus.OK, status_from=NO_RESULTS)

    def _say(self, raw: Mapping[str, Any], role: str) -> None:
        text = words(raw.get("content"))
        at = moment(raw.get("timestamp"))
        made = objects(raw, "tool_calls")
        if not made and raw.get("function_call"):
            made = [mapping(raw, "function_call")]
        first = len(self.calls)
        if role == "assistant" and not made and raw.get("status") == CallStatus.INVALID:
            # So this kit's own export marks an attempt at a call that could not be read.
            self.calls.append(
                MadeCall(None, {}, CallStatus.INVALID, "key status", group=len(self.messages), words=text)
            )
        if role == "assistant":
            for place, call in enumerate(made):
                self._call(call, f"tool_calls[{place}]: ", text, at)
        usage = mapping(raw, "usage")
        self.messages.append(
            Message(
                role,
                text,
                tuple(range(first, len(self.calls))),
                count(usage.get("prompt_tokens", usage.get("input_tokens"))),
                count(usage.get("completion_tokens", usage.get("output_tokens"))),
                number(raw.get("generation_time_seconds")),
                at,
            )
        )

    def _call(self, raw: Mapping[str, Any], where: str, text: str, at: float | None) -> None:
        inner = raw.get("function")
        holder = inner if isinstance(inner, Mapping) else raw
        tool = inner if isinstance(inner, str) else name(holder, "name")
        if not tool:
            raise RecordError(f"{where}the tool's 'name' is missing")
        arguments, fault = arguments_of(holder.get("arguments"))
        if fault is None and raw.get("parse_error"):
            fault = Told(CallStatus.INVALID, "key parse_error", str(raw["parse_error"]))
        place = len(self.calls)
        self.calls.append(
            MadeCall(
                tool,
                arguments,
                None if fault is None else fault.status,
                NO_ANSWER if fault is None else fault.source,
                name(raw, "id", "call_id"),
                error=None if fault is None else fault.error,
                group=len(self.messages),
                words=text,
                t_start=at,
            )
        )
        self._open.append(place)

    def _answer(self, raw: Mapping[str, Any]) -> None:
        content = raw.get("content", raw.get("output"))
        at = moment(raw.get("timestamp"))
        place = None if raw.get("requestor") == "user" else self._asked_by(raw)
        if place is not None and raw.get("status") == NO_ANSWER:
            # So this kit's own export marks a call whose result never came.
            self._answered = True
        elif place is not None:
            self._answered = True
            call = replace(self.calls[place], result=parsed(_plain(content)), t_end=at)
            if call.status is None:
                told = told_by(raw, content)
                call = replace(call, status=told.status, status_from=told.source, error=told.error)
            self.calls[place] = call
        self.messages.append(Message("tool", words(content), () if place is None else (place,), t=at))

    def _asked_by(self, raw: Mapping[str, Any]) -> int | None:
        """Return the first waiting call with the answer's id; without an id, the first of its name, or any.

        Ids repeat in some files: an answered call is not answered again.
        """
        ident = name(raw, "tool_call_id", "call_id", "id")
        tool = name(raw, "name", "function")
        waiting = self._open
        same = [place for place in waiting if self.calls[place].id == ident] if ident is not None else []
        if not same and not any(ident is not None and call.id == ident for call in self.calls):
            same = [place for place in waiting if tool and self.calls[place].name == tool] or (
                [] if tool else list(waiting)
            )
        if not same:
            return None
        waiting.remove(same[0])
        return same[0]


def read_chat(messages: Sequence[Any], key: str = "messages") -> Chat:
    """Return the messages and calls of a list of messages.

    Raises:
        RecordError: a message has another form; the text names its key.
    """
    chat = Chat()
    for place, raw in enumerate(messages):
        chat.add(raw, f"{key}[{place}]")
    chat.finish()
    return chat


def arguments_of(given: Any) -> tuple[Mapping[str, Any], Told | None]:
    """Return the arguments of a call, given as an object or as its JSON text, and the fault of others."""
    if isinstance(given, str):
        if not given.strip():
            return {}, None
        try:
            given = parse_json(given, strict_numbers=False)
        except ForeignJsonError as error:
            return {}, Told(CallStatus.INVALID, "key arguments", str(error))
    if given is None:
        return {}, None
    if not isinstance(given, Mapping):
        return {}, Told(CallStatus.INVALID, "key arguments", f"must be an object, not {kind(given)}")
    return given, None


def read_tools(record: Mapping[str, Any], key: str = "tools") -> tuple[ToolSpec, ...]:
    """Return the tools of a list, as OpenAI has them, or MCP with `inputSchema` and annotations."""
    found = []
    for raw in listed(record, key):
        inner = raw.get("function", raw) if isinstance(raw, Mapping) else None
        tool = inner.get("name") if isinstance(inner, Mapping) else None
        if not isinstance(inner, Mapping) or not isinstance(tool, str):
            # Others are built-in tools of a provider, which have no schema.
            continue
        schema = next(
            (inner[one] for one in ("parameters", "inputSchema", "input_schema") if inner.get(one)), None
        )
        notes = inner.get("annotations")
        reads = notes.get("readOnlyHint") if isinstance(notes, Mapping) else None
        effect = None if not isinstance(reads, bool) else "read" if reads else "write"
        found.append(
            ToolSpec(
                tool,
                words(inner.get("description")),
                schema if isinstance(schema, Mapping) else None,
                effect,
            )
        )
    return tuple(found)


def _plain(content: Any) -> Any:
    """Return parts of text as their text; anything else as it is."""
    return words(content) if isinstance(content, list) else content
