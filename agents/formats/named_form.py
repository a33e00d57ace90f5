"""Syntaxes in which the tool's name stands before a JSON object of its arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents.formats.calls import CallText, Item, Nonsense, Tools, call_of, to_json
from agents.formats.form import CallForm, around, find_each, next_start
from agents.formats.format import Found
from agents.formats.grammar import Rules, literal
from agents.formats.json_text import json_end, not_json
from core_eval.text.foreign_json import ForeignJsonError, parse_json


@dataclass(frozen=True)
class NamedForm(CallForm):
    """How a syntax writes its calls.

    Attributes:
        opening: a pattern whose group `name` is the tool; the arguments follow.
        closing: a pattern of what may follow the arguments, and belongs to the call.
        written: a call as it is written, with `{name}` and `{arguments}` in their places.
        first, last, separator: what is written around a run of calls, and between them.
    """

    opening: str
    closing: str
    written: str
    first: str = ""
    last: str = ""
    separator: str = ""

    def call(self, call: CallText) -> str:
        """Return a call as it is written."""
        before, between, after = around(self.written, "name", "arguments")
        return f"{before}{call.name}{between}{to_json(dict(call.arguments))}{after}"

    def rule(self, rules: Rules, name: str, schema: Mapping[str, Any], rule: str) -> str:
        """Return the grammar of a call of one tool."""
        before, between, after = around(self.written, "name", "arguments")
        return f"{literal(before + name + between)} {rules.object_of(schema, rule)} {literal(after)}"

    def find(self, text: str, tools: Tools) -> list[Found]:
        """Return the calls in an answer: a name, a JSON object, and perhaps a closing mark."""
        opening, closing = re.compile(self.opening), re.compile(self.closing)

        def read(mark: re.Match[str]) -> tuple[list[Item], int]:
            end = json_end(text, mark.end()) if text.startswith("{", mark.end()) else None
            if end is None:
                place = next_start(text, opening, mark)
                reason = f"the arguments of {mark['name']} must be a JSON object, and whole"
                return [Nonsense("unclosed", reason, text[mark.start() : place].strip())], place
            words = text[mark.start() : end]
            try:
                given = parse_json(text[mark.end() : end], strict_numbers=False, unique_keys=True)
                item = call_of(mark["name"], given, words)
            except ForeignJsonError as error:
                item = not_json(words, str(error))
            close = closing.match(text, end)
            return [item], close.end() if close else end

        return find_each(text, opening, read)
