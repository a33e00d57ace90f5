"""Syntaxes whose calls are JSON objects, or a list of them, after a mark."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from agents.formats.calls import CallText, Item, Nonsense, Tools, read_record, to_json
from agents.formats.form import CallForm, spaced
from agents.formats.format import Found, Functions, too_many
from agents.formats.grammar import Rules, literal
from agents.formats.json_text import ReadRecord, json_end, not_json, read_value, skip

MORE = re.compile(r"\{|\[\s*\{")
"""What may stand behind a first value; other brackets are words."""


@dataclass(frozen=True)
class JsonForm(CallForm):
    """How a syntax writes its calls.

    Attributes:
        open, close: marks around the calls; `close` may be empty.
        also: a pattern of further opening marks that are read.
        lead, trail: written between mark and JSON.
        listed: whether the calls are one JSON list; else each has marks of its own.
        head, middle, tail: the text of one call around the quoted name and the arguments.
        read: returns the call of a JSON value.
    """

    open: str
    close: str = ""
    also: str = ""
    lead: str = ""
    trail: str = ""
    listed: bool = False
    head: str = '{"name": '
    middle: str = ', "arguments": '
    tail: str = "}"
    read: ReadRecord = read_record

    @property
    def opening(self) -> re.Pattern[str]:
        """Matches an opening mark."""
        return re.compile(f"{re.escape(self.open)}|{self.also}" if self.also else re.escape(self.open))

    @property
    def marks(self) -> tuple[str, ...]:
        """Its marks."""
        return tuple(filter(None, (self.open, self.close)))

    def call(self, call: CallText) -> str:
        """Return a call as it is written, without marks."""
        return f"{self.head}{to_json(call.name)}{self.middle}{to_json(dict(call.arguments))}{self.tail}"

    def text(self, calls: Sequence[CallText]) -> str:
        """Return calls as they are written."""
        records = list(map(self.call, calls))
        if self.listed:
            records = [f"[{', '.join(records)}]"]
        return "\n".join(f"{self.open}{self.lead}{record}{self.trail}{self.close}" for record in records)

    def rules(self, rules: Rules, functions: Functions) -> str:
        """Return the grammar of one run of calls."""
        record = rules.choice("call-body", functions, partial(self.rule, rules))
        inner = f'"[" {record} ( "," " "? {record} )* "]"' if self.listed else record
        parts = [literal(self.open), _optional(self.lead), inner, _optional(self.trail)]
        return rules.add("call", " ".join([*parts, literal(self.close)]))

    def rule(self, rules: Rules, name: str, schema: Any, rule: str) -> str:
        """Return the grammar of a call of one tool, in either order of name and arguments."""
        arguments, quoted = rules.object_of(schema, rule), literal(to_json(name))
        usual = f"{spaced(self.head)} {quoted} {spaced(self.middle)} {arguments} {literal(self.tail)}"
        if not (self.head.startswith('{"') and self.tail == "}" and self.middle.startswith(", ")):
            return usual
        # Hermes writes the arguments first.
        first, second = spaced("{" + self.middle[2:]), spaced(", " + self.head[1:])
        return f'{usual} | {first} {arguments} {second} {quoted} "}}"'

    def find(self, text: str, tools: Tools) -> list[Found]:
        """Return the calls in an answer."""
        return find_marked(text, self.opening, self.close, self.read)


def find_marked(
    text: str, opening: re.Pattern[str], close: str, read: Callable[[Any, str], Item]
) -> list[Found]:
    """Return the calls after each opening mark. A missing closing mark after whole JSON is no fault."""
    found: list[Found] = []
    either = re.compile(f"{opening.pattern}|{re.escape(close)}") if close else opening
    place = 0
    while (mark := either.search(text, place)) is not None:
        if mark.group() == close:
            reason = f"{close} without {opening.pattern} before it".replace("\\", "")
            items: list[Item] = [Nonsense("stray_mark", reason, close)]
            place = mark.end()
        else:
            items, place = _read_body(text, mark.end(), either, close, read)
        found += [Found(mark.start(), place, item) for item in items]
        if too_many(found, text):
            break
    return found


def _read_body(
    text: str, begin: int, either: re.Pattern[str], close: str, read: ReadRecord
) -> tuple[list[Item], int]:
    items: list[Item] = []
    place = skip(text, begin)
    while place < len(text) and text[place] in "{[" and (not items or MORE.match(text, place)):
        end = json_end(text, place)
        if end is None:
            break
        # Marks within a string of whole JSON are its text.
        items += read_value(text[place:end], read)
        place = skip(text, end)
    after = either.search(text, place)
    closed = after is not None and bool(close) and after.group() == close
    limit = len(text) if after is None else after.start()
    rest = text[place:limit].strip()
    end = after.end() if closed and after is not None else limit
    if items and (not closed or not rest):
        return items, end if closed else place
    body = text[begin:limit]
    if closed:
        return [not_json(body, "something stands before or after it" if items else _why(rest))], end
    return [
        Nonsense("unclosed", f"the call was not finished{' with ' + close if close else ''}", body.strip())
    ], end


def _optional(space: str) -> str:
    return f"( {literal(space)} )?" if space else ""


def _why(rest: str) -> str:
    (item,) = read_value(rest)[:1]
    return (
        item.reason.removeprefix("the call is not JSON: ") if isinstance(item, Nonsense) else "it is cut off"
    )
