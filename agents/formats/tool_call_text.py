"""Read the calls in a model's words: `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`.

Tolerant where the meaning is clear (white space, a missing closing mark after whole JSON, arguments given as
a JSON string), and exact about everything else: what cannot be read is named by a code and a sentence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core_eval.path.foreign_json import ForeignJsonError, parse_json

OPEN, CLOSE = "<tool_call>", "</tool_call>"
THINKING = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_MARKUP = re.compile(rf"{OPEN}|{CLOSE}")


@dataclass(frozen=True, slots=True)
class CallText:
    """A call that could be read."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Nonsense:
    """Words that were meant as a call and are none.

    Attributes:
        code: `unclosed`, `stray_close`, `bad_json`, `not_an_object`, `no_name`, `bad_arguments`.
        reason: a sentence for the model.
        text: the words.
    """

    code: str
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class ParsedText:
    """A model's answer: the words before the first call (thinking included), and the calls, in order."""

    words: str
    items: tuple[CallText | Nonsense, ...]


def parse_answer(text: str) -> ParsedText:
    """Parse an answer. Text in a thinking block is never a call."""
    thought = THINKING.match(text.lstrip())
    head = text[: len(text) - len(text.lstrip()) + thought.end()] if thought else ""
    rest = text[len(head) :]
    first = _MARKUP.search(rest)
    if first is None:
        return ParsedText(text, ())
    items: list[CallText | Nonsense] = []
    place = first.start()
    while (mark := _MARKUP.search(rest, place)) is not None:
        if mark.group() == CLOSE:
            items.append(Nonsense("stray_close", f"{CLOSE} without {OPEN} before it", mark.group()))
            place = mark.end()
            continue
        after = _MARKUP.search(rest, mark.end())
        closed = after is not None and after.group() == CLOSE
        end = len(rest) if after is None else after.start()
        items.append(read_call(rest[mark.end() : end], closed=closed))
        place = after.end() if after is not None and closed else end
    return ParsedText(head + rest[: first.start()], tuple(items))


def read_call(body: str, *, closed: bool = True) -> CallText | Nonsense:
    """Parse the text between the marks."""
    try:
        # Numbers beyond all floats are for the device's schema to refuse, by the argument's name.
        record = parse_json(body, strict_numbers=False)
    except ForeignJsonError as error:
        if not closed:
            return Nonsense("unclosed", f"the call was not finished with {CLOSE}", body.strip())
        what = str(error).removeprefix("no JSON: ")
        return Nonsense("bad_json", f"the call is not JSON: {what}", body.strip())
    if not isinstance(record, dict):
        return Nonsense("not_an_object", "the call must be an object with name and arguments", body.strip())
    name = record.get("name")
    if not isinstance(name, str) or not name or not _whole(name):
        return Nonsense("no_name", "the call names no tool: give name and arguments", body.strip())
    arguments = read_arguments(record.get("arguments", {}))
    if arguments is None:
        return Nonsense("bad_arguments", f"the arguments of {name} must be a JSON object", body.strip())
    return CallText(name, arguments)


def read_arguments(value: Any) -> Mapping[str, Any] | None:
    """Return arguments given as an object, or as a string of one; None if they are neither."""
    if value is None or value == "":
        return {}
    if isinstance(value, str):
        try:
            value = parse_json(value, strict_numbers=False)
        except ForeignJsonError:
            return None
    return value if isinstance(value, dict) and _whole(value) else None


def _whole(value: Any) -> bool:
    """Return whether all text in the value is valid UTF-8: JSON escapes may hold half a character."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
