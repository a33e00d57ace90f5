"""Syntaxes in which the tool's name stands before a JSON object of its arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agents.formats.calls import CallText, Nonsense, Tools, call_of, to_json
from agents.formats.format import Format, Found, Functions, too_many
from agents.formats.grammar import Rules, literal
from agents.formats.json_text import json_end, not_json
from core_eval.text.foreign_json import ForeignJsonError, parse_json


@dataclass(frozen=True)
class NamedForm:
    """How a syntax writes its calls.

    Attributes:
        opening: a pattern whose group `name` is the tool; the arguments follow.
        closing: a pattern of what may follow the arguments, and belongs to the call.
        before, between, after: what is written around the name and the arguments.
        first, last: what is written around a run of calls.
    """

    opening: str
    closing: str
    before: str
    between: str
    after: str
    first: str = ""
    last: str = ""
    separator: str = ""

    def text(self, calls: Sequence[CallText]) -> str:
        """Return calls as they are written."""
        each = [
            f"{self.before}{call.name}{self.between}{to_json(dict(call.arguments))}{self.after}"
            for call in calls
        ]
        return f"{self.first}{self.separator.join(each)}{self.last}"

    def rules(self, rules: Rules, functions: Functions) -> str:
        """Return the grammar of one run of calls."""
        call = rules.choice(
            "call-body",
            functions,
            lambda name, schema, rule: " ".join(
                (
                    literal(self.before + name + self.between),
                    rules.object_of(schema, rule),
                    literal(self.after),
                )
            ),
        )
        more = f"( {literal(self.separator)} {call} )*" if self.first or self.last else ""
        return rules.add("call", f"{literal(self.first)} {call} {more} {literal(self.last)}")

    def find(self, text: str, tools: Tools) -> list[Found]:
        """Return the calls in an answer."""
        return find_named(text, re.compile(self.opening), re.compile(self.closing))


def named_format(name: str, form: NamedForm, **facts: Any) -> Format:
    """Return the format; `facts` are the attributes that the form does not give."""
    return Format(
        name=name,
        read=facts.pop("read", None) or form.find,
        write=form.text,
        grammar=form.rules,
        **facts,
    )


def find_named(text: str, opening: re.Pattern[str], closing: re.Pattern[str]) -> list[Found]:
    """Return the calls in an answer: a name, a JSON object, and perhaps a closing mark."""
    found: list[Found] = []
    place = 0
    while (mark := opening.search(text, place)) is not None and not too_many(found, text):
        end = json_end(text, mark.end()) if text.startswith("{", mark.end()) else None
        if end is None:
            following = opening.search(text, mark.end())
            place = following.start() if following else len(text)
            words = text[mark.start() : place].strip()
            reason = f"the arguments of {mark['name']} must be a JSON object, and whole"
            found.append(Found(mark.start(), place, Nonsense("unclosed", reason, words)))
            continue
        words = text[mark.start() : end]
        try:
            item = call_of(
                mark["name"],
                parse_json(text[mark.end() : end], strict_numbers=False, unique_keys=True),
                words,
            )
        except ForeignJsonError as error:
            item = not_json(words, str(error))
        close = closing.match(text, end)
        place = close.end() if close else end
        found.append(Found(mark.start(), place, item))
    return found
