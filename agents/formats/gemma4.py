"""Gemma 4 and FunctionGemma: `call:NAME{KEY:VALUE}` between marks, with marks instead of quotes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents.formats.calls import CallText, Item, Nonsense, Tools, call_of, is_text, to_json
from agents.formats.form import CallForm, find_each, format_of, next_start
from agents.formats.format import Found
from agents.formats.grammar import Rules, literal
from core_eval.text.foreign_json import ForeignJsonError, parse_json

DEEPEST = 50
SCALAR = re.compile(r"[^,{}\[\]]+")
JSON_TEXT = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"(?=\s*[,}\]])')
KEY = re.compile(r"\s*([^:,{}\[\]]+?)\s*:\s*")


@dataclass(frozen=True)
class BraceForm(CallForm):
    """The marks of one family: around a call, and around a text."""

    open: str
    close: str
    quote: str

    @property
    def marks(self) -> tuple[str, ...]:
        """Its marks."""
        return self.open, self.close

    def call(self, call: CallText) -> str:
        """Return a call as it is written."""
        return f"{self.open}call:{call.name}{self._value(call.arguments)}{self.close}"

    def _value(self, value: Any) -> str:
        if isinstance(value, str):
            return f"{self.quote}{value}{self.quote}"
        if isinstance(value, Mapping):
            return "{" + ",".join(f"{key}:{self._value(entry)}" for key, entry in value.items()) + "}"
        if isinstance(value, list | tuple):
            return "[" + ",".join(self._value(entry) for entry in value) + "]"
        return to_json(value)

    def find(self, text: str, tools: Tools) -> list[Found]:
        """Return the calls in an answer."""
        opening = re.compile(rf"{re.escape(self.open)}\s*(?:call:)?(?P<name>[^\s{{}}<]*)\s*")

        def read(mark: re.Match[str]) -> tuple[list[Item], int]:
            try:
                arguments, end = self._read(text, mark.end(), 0)
            except ValueError as error:
                limit = next_start(text, opening, mark)
                close = text.find(self.close, mark.end(), limit)
                end = limit if close < 0 else close + len(self.close)
                code, words = "bad_call" if close >= 0 else "unclosed", text[mark.start() : end]
                return [Nonsense(code, f"the call is not call:NAME{{KEY:VALUE}}: {error}", words)], end
            item = call_of(mark["name"], arguments, text[mark.start() : end])
            return [item], end + len(self.close) if text.startswith(self.close, end) else end

        return find_each(text, opening, read)

    def _read(self, text: str, place: int, depth: int) -> tuple[Any, int]:
        if depth > DEEPEST:
            raise ValueError(f"nested deeper than {DEEPEST} levels")
        if text.startswith(self.quote, place):
            begin = place + len(self.quote)
            end = text.find(self.quote, begin)
            if end < 0:
                raise ValueError("a text is not closed")
            return text[begin:end], end + len(self.quote)
        if depth and (quoted := JSON_TEXT.match(text, place)) is not None:
            return parse_json(quoted.group()), quoted.end()
        if text.startswith(("{", "["), place):
            return self._read_many(text, place, depth)
        scalar = SCALAR.match(text, place)
        if depth == 0 or scalar is None:
            raise ValueError("a value is missing")
        try:
            return parse_json(scalar.group().strip(), strict_numbers=False, unique_keys=True), scalar.end()
        except ForeignJsonError:
            return scalar.group().strip(), scalar.end()

    def _read_many(self, text: str, place: int, depth: int) -> tuple[Any, int]:
        keyed = text[place] == "{"
        end = "}" if keyed else "]"
        entries: dict[str, Any] = {}
        values: list[Any] = []
        place += 1
        while True:
            while text[place : place + 1].isspace():
                place += 1
            if text.startswith(end, place):
                return (entries if keyed else values), place + 1
            if keyed:
                key = KEY.match(text, place)
                if key is None:
                    raise ValueError("a key is missing, or the call is not closed")
                name = self._unquoted(key[1])
                if name in entries:
                    raise ValueError(f"{name} is given twice")
                entries[name], place = self._read(text, key.end(), depth + 1)
            else:
                value, place = self._read(text, place, depth + 1)
                values.append(value)
            while text[place : place + 1].isspace():
                place += 1
            if text.startswith(",", place):
                place += 1
            elif not text.startswith(end, place):
                raise ValueError(f"{end} is missing")

    def _unquoted(self, key: str) -> str:
        """Return a key without quotes, which models know from JSON."""
        for quote in (self.quote, '"'):
            if len(key) > 2 * len(quote) and key.startswith(quote) and key.endswith(quote):
                return key[len(quote) : -len(quote)]
        return key

    def rule(self, rules: Rules, name: str, schema: Mapping[str, Any], rule: str) -> str:
        """Return the grammar of a call of one tool."""

        def value(schema: Mapping[str, Any], rule: str) -> str:
            if not is_text(schema):
                return rules.value_of(schema, rule)
            text = rules.plain_value_of(schema, rule, self.quote)
            return f"{literal(self.quote)} {text} {literal(self.quote)}"

        members = rules.members_of(schema, rule, "{}:".format, value, '","')
        return f"{literal(f'{self.open}call:{name}{{')} {members} {literal('}' + self.close)}"


FORMAT = format_of(
    "gemma-4",
    BraceForm("<|tool_call>", "<tool_call|>", '<|"|>'),
    families="Gemma 4",
    documented="vLLM's `gemma4` [parser](https://docs.vllm.ai/en/latest/features/tool_calling/)",
    thoughts=(("<|channel>thought", "<channel|>"),),
)
FUNCTION_GEMMA = format_of(
    "function-gemma",
    BraceForm("<start_function_call>", "<end_function_call>", "<escape>"),
    families="FunctionGemma",
    documented="[FunctionGemma: formatting](https://ai.google.dev/gemma/docs/functiongemma/formatting-and-best-practices)",
    turns=("<start_function_response>",),
)
