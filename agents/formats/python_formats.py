"""Syntaxes whose calls are Python: `NAME(KEY=VALUE, ...)`, between marks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agents.formats.bare_json import read_bare_json
from agents.formats.calls import CallText, Item, Nonsense, Tools, is_text, to_json
from agents.formats.form import CallForm, find_each, format_of, next_start
from agents.formats.format import Found, Functions
from agents.formats.grammar import Rules, literal
from agents.formats.python_text import bracket_end, read_python

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


_FENCED = PythonForm("```tool_code", "```", "```tool_code\n", "\n```", "\n")
_FENCE = re.compile(r"```tool_code[ \t]*\n?(?P<code>.*?)(?:```|\Z)", re.DOTALL)


def _read_fenced(text: str, tools: Tools) -> list[Found]:
    return [
        Found(block.start(), block.end(), item)
        for block in _FENCE.finditer(text)
        for item in read_python(block["code"], tools)
    ]


def _fenced_rules(rules: Rules, functions: Functions) -> str:
    call = rules.choice("call-body", functions, lambda *tool: _FENCED.rule(rules, *tool))
    return rules.add("call", f"{literal(_FENCED.first)} {call} {literal(_FENCED.last)}")


GEMMA3 = format_of(
    "gemma-3",
    _FENCED,
    families="Gemma 2 and 3",
    documented="[Function calling with Gemma](https://ai.google.dev/gemma/docs/capabilities/function-calling)",
    detected_by=("<start_of_turn>",),
    marks=("```tool_code",),
    read=_read_fenced,
    grammar=_fenced_rules,
    rank=2,
    turns=("<start_of_turn>user",),
    ends=("<eos>", "<end_of_turn>"),
)
"""Gemma 3, which has no marks of its own: Python in a fence named `tool_code`."""

_JSON_OR_PYTHON = re.compile(r"\[\s*[A-Za-z_][\w.]*\(")


def _read_python_or_json(words: str, tools: Tools) -> list[Item]:
    # It writes JSON where the system prompt asks for it.
    json = [] if _JSON_OR_PYTHON.match(words) else [found.item for found in read_bare_json(words, tools)]
    return json or read_python(words, tools)


LFM2 = format_of(
    "lfm2",
    PythonForm(
        re.escape("<|tool_call_start|>"),
        "<|tool_call_end|>",
        "<|tool_call_start|>[",
        "]<|tool_call_end|>",
        read=_read_python_or_json,
    ),
    families="LFM2, LFM2.5",
    documented="[LFM2](https://huggingface.co/LiquidAI/LFM2-700M)",
    detected_by=("<|tool_call_start|>", "<|tool_list_start|>", "List of tools: ["),
    marks=("<|tool_call_start|>", "<|tool_call_end|>"),
)
"""LFM2: `<|tool_call_start|>[NAME(KEY=VALUE, ...)]<|tool_call_end|>`."""
OLMO3 = format_of(
    "olmo-3",
    PythonForm(
        r"<function_calls>(?=\s*\[?\s*[A-Za-z_][\w.]*\s*\()",
        "</function_calls>",
        "<function_calls>",
        "</function_calls>",
        "\n",
    ),
    families="Olmo 3",
    documented="vLLM's `olmo3` [parser](https://docs.vllm.ai/en/latest/features/tool_calling/)",
    detected_by=("<function_calls>",),
    marks=("<function_calls>", "</function_calls>"),
)
"""Olmo 3: `<function_calls>NAME(KEY=VALUE, ...)</function_calls>`, a call on each line."""

_BEGINS = re.compile(r"(?m)^[ \t]*(?:<\|python_start\|>)?(?=\[\s*[A-Za-z_][\w.]*\()")


def _read_lists(text: str, tools: Tools) -> list[Found]:
    def read(mark: re.Match[str]) -> tuple[list[Item], int]:
        end = bracket_end(text, mark.end()) or len(text)
        items = read_python(text[mark.end() : end], tools)
        return items, end + len("<|python_end|>") if text.startswith("<|python_end|>", end) else end

    return find_each(text, _BEGINS, read)


PYTHONIC = format_of(
    "pythonic",
    PythonForm("", ""),
    families="Llama 3.2 and Llama 4 as their cards ask, ToolACE, Gemma 3 with its list form",
    documented="[Llama 4: prompt formats](https://www.llama.com/docs/model-cards-and-prompt-formats/llama4/)",
    detected_by=("[func_name1(param", "<|python_start|>"),
    marks=("<|python_start|>", "<|python_end|>"),
    read=_read_lists,
    bare="[",
    rank=1,
    unasked="always",
)
"""Pythonic lists: `[NAME(KEY=VALUE, ...), ...]` as the whole answer."""
