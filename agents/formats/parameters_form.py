"""Syntaxes in which each argument has marks of its own, as in XML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agents.formats.calls import CallText, Nonsense, Tools, call_of, to_json
from agents.formats.format import Format, Found, Functions, too_many
from agents.formats.grammar import Rules, literal


@dataclass(frozen=True)
class ParametersForm:
    """How a syntax writes its calls.

    Attributes:
        opening, closing: patterns around a call; the first has the group `name`.
        parameter: a pattern of one argument, with the groups `key` and `value`.
        before, after_name, after: what is written around a call.
        before_key, after_key, after_value: what is written around an argument.
        first, last: what is written around a run of calls.
    """

    opening: str
    closing: str
    parameter: str
    before: str
    after_name: str
    after: str
    before_key: str
    after_key: str
    after_value: str
    first: str = ""
    last: str = ""

    def text(self, calls: Sequence[CallText]) -> str:
        """Return calls as they are written."""
        return self.first + "\n".join(self._call(call) for call in calls) + self.last

    def _call(self, call: CallText) -> str:
        arguments = "".join(
            f"{self.before_key}{key}{self.after_key}{_plain(value)}{self.after_value}"
            for key, value in call.arguments.items()
        )
        return f"{self.before}{call.name}{self.after_name}{arguments}{self.after}"

    def rules(self, rules: Rules, functions: Functions) -> str:
        """Return the grammar of one run of calls."""
        end = self.after_value.strip() or self.after_value

        def value(schema: Any, rule: str) -> str:
            return f"{rules.plain_value_of(schema, rule, end)} {literal(self.after_value)}"

        call = rules.choice(
            "call-body",
            functions,
            lambda name, schema, rule: " ".join(
                (
                    literal(self.before + name + self.after_name),
                    rules.members_of(
                        schema, rule, lambda key: self.before_key + key + self.after_key, value, ""
                    ),
                    literal(self.after),
                )
            ),
        )
        more = f'( "\\n" {call} )*' if self.first or self.last else ""
        return rules.add("call", f"{literal(self.first)} {call} {more} {literal(self.last)}")

    def find(self, text: str, tools: Tools) -> list[Found]:
        """Return the calls in an answer."""
        opening, closing = re.compile(self.opening), re.compile(self.closing)
        parameter = re.compile(self.parameter, re.DOTALL)
        found: list[Found] = []
        place = 0
        while (mark := opening.search(text, place)) is not None and not too_many(found, text):
            following = opening.search(text, mark.end())
            close = closing.search(text, mark.end(), following.start() if following else len(text))
            if close is None:
                place = following.start() if following else len(text)
                item: CallText | Nonsense = Nonsense(
                    "unclosed",
                    f"the call of {mark['name'].strip()} was not finished",
                    text[mark.start() : place],
                )
            else:
                place = close.end()
                body = text[mark.end() : close.start()]
                item = _read(mark["name"].strip(), body, text[mark.start() : place], parameter, tools)
            found.append(Found(mark.start(), place, item))
        return found


def parameters_format(name: str, form: ParametersForm, **facts: Any) -> Format:
    """Return the format; `facts` are the attributes that the form does not give."""
    return Format(
        name=name,
        read=form.find,
        write=form.text,
        grammar=form.rules,
        **facts,
    )


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
