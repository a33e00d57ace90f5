"""Syntaxes whose calls are Python: `NAME(KEY=VALUE, ...)`, between marks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agents.formats.calls import CallText, Item, Nonsense, Tools, is_text, to_json
from agents.formats.form import CallForm, find_each, next_start
from agents.formats.format import Found
from agents.formats.grammar import Rules, literal
from agents.formats.python_text import read_python

STRING = r"""( "'" ( [^'\\\x00-\x1f] | "\\" [^\x00-\x1f] )* "'" )"""
"""A string in single quotes; one in double quotes is as in JSON."""


def python_call(call: CallText) -> str:
    """Return a call as Python."""
    return f"{call.name}({', '.join(f'{key}={value!r}' for key, value in call.arguments.items())})"


@dataclass(frozen=True)
class PythonForm(CallForm):
    """How a syntax writes its calls.

    Attributes:
        opening: a pattern of the mark before the calls.
        close: the mark behind them.
        first, last, separator: what is written around a run of calls, and between them.
        read: returns the calls of what stands between the marks.
    """

    opening: str
    close: str
    first: str = "["
    last: str = "]"
    separator: str = ", "
    read: Callable[[str, Tools], list[Item]] = read_python

    def call(self, call: CallText) -> str:
        """Return a call as it is written."""
        return python_call(call)

    def rule(self, rules: Rules, name: str, schema: Mapping[str, Any], rule: str) -> str:
        """Return the grammar of a call of one tool."""

        def value(schema: Mapping[str, Any], rule: str) -> str:
            if is_text(schema):
                enum = schema.get("enum", ())
                values = [literal(quoted) for text in enum for quoted in (repr(text), to_json(text))]
                return rules.add(rule, " | ".join(values) if values else f"string | {STRING}")
            plain = {"boolean": '( "True" | "False" )', "null": '"None"'}.get(str(schema.get("type")))
            return plain or rules.value_of(schema, rule)

        members = rules.members_of(schema, rule, "{}=".format, value)
        return f'{literal(f"{name}(")} {members} ")"'

    def find(self, text: str, tools: Tools) -> list[Found]:
        """Return the calls between the marks. A missing closing mark after whole calls is no fault."""
        opening = re.compile(self.opening)

        def read(mark: re.Match[str]) -> tuple[list[Item], int]:
            limit = next_start(text, opening, mark)
            closed = text.find(self.close, mark.end(), limit)
            words = text[mark.end() : limit if closed < 0 else closed].strip()
            items = self.read(words, tools)
            if closed >= 0:
                return items, closed + len(self.close)
            if any(isinstance(item, Nonsense) for item in items):
                items = [Nonsense("unclosed", f"the call was not finished with {self.close}", words)]
            return items, limit

        return find_each(text, opening, read)
