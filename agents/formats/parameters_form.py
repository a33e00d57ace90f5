"""Syntaxes in which each argument has marks of its own, as in XML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents.formats.calls import CallText, Item, Nonsense, Tools, call_of, to_json
from agents.formats.form import CallForm, around, find_each, next_start
from agents.formats.format import Found
from agents.formats.grammar import Rules, literal


@dataclass(frozen=True)
class ParametersForm(CallForm):
    """How a syntax writes its calls.

    Attributes:
        opening, closing: patterns around a call; the first has the group `name`.
        parameter: a pattern of one argument, with the groups `key` and `value`.
        written: a call as it is written, with `{name}` and `{arguments}` in their places.
        argument: one argument, with `{key}` and `{value}`.
        first, last, separator: what is written around a run of calls, and between them.
    """

    opening: str
    closing: str
    parameter: str
    written: str
    argument: str
    first: str = ""
    last: str = ""
    separator: str = "\n"

    def call(self, call: CallText) -> str:
        """Return a call as it is written."""
        before, between, after = around(self.argument, "key", "value")
        given = call.arguments.items()
        arguments = "".join(f"{before}{key}{between}{_plain(value)}{after}" for key, value in given)
        before, between, after = around(self.written, "name", "arguments")
        return f"{before}{call.name}{between}{arguments}{after}"

    def rule(self, rules: Rules, name: str, schema: Mapping[str, Any], rule: str) -> str:
        """Return the grammar of a call of one tool."""
        before_key, after_key, after_value = around(self.argument, "key", "value")
        before, between, after = around(self.written, "name", "arguments")

        def key(name: str) -> str:
            return before_key + name + after_key

        def value(schema: Any, rule: str) -> str:
            end = after_value.strip() or after_value
            return f"{rules.plain_value_of(schema, rule, end)} {literal(after_value)}"

        begin = literal(before + name + between)
        return f"{begin} {rules.members_of(schema, rule, key, value, '')} {literal(after)}"

    def find(self, text: str, tools: Tools) -> list[Found]:
        """Return the calls in an answer."""
        opening, closing = re.compile(self.opening), re.compile(self.closing)
        parameter = re.compile(self.parameter, re.DOTALL)

        def read(mark: re.Match[str]) -> tuple[list[Item], int]:
            limit, name = next_start(text, opening, mark), mark["name"].strip()
            close = closing.search(text, mark.end(), limit)
            end = limit if close is None else close.end()
            words = text[mark.start() : end]
            if close is None:
                return [Nonsense("unclosed", f"the call of {name} was not finished", words)], end
            return [_read(name, text[mark.end() : close.start()], words, parameter, tools)], end

        return find_each(text, opening, read)


def _read(name: str, body: str, words: str, parameter: re.Pattern[str], tools: Tools) -> CallText | Nonsense:
    arguments: dict[str, Any] = {}
    for match in parameter.finditer(body):
        key = match["key"].strip()
        if key in arguments:
            return Nonsense("bad_arguments", f"the call of {name} gives {key} twice", words)
        value = match["value"].removeprefix("\n").removesuffix("\n")
        value = value.removeprefix("<![CDATA[").removesuffix("]]>")
        arguments[key] = tools.value(name, key, value)
    if parameter.sub("", body).strip():
        return Nonsense("bad_call", f"the arguments of {name} do not have the form that was asked for", words)
    return call_of(name, arguments, words)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value)
