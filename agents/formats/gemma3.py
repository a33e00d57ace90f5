"""Gemma 3, which has no marks of its own: Python in a fence named `tool_code`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.formats.calls import CallText, Tools
from agents.formats.format import Format, Found, Functions
from agents.formats.grammar import Rules
from agents.formats.python_form import python_call, python_call_rule
from agents.formats.python_text import read_python

OPEN = "```tool_code"
BLOCK = re.compile(r"```tool_code[ \t]*\n?(?P<code>.*?)(?:```|\Z)", re.DOTALL)


def _read(text: str, tools: Tools) -> list[Found]:
    return [
        Found(block.start(), block.end(), item)
        for block in BLOCK.finditer(text)
        for item in read_python(block["code"], tools)
    ]


def _write(calls: Sequence[CallText]) -> str:
    lines = "\n".join(python_call(call) for call in calls)
    return f"{OPEN}\n{lines}\n```"


def _rules(rules: Rules, functions: Functions) -> str:
    return rules.add("call", f'"```tool_code\\n" {python_call_rule(rules, functions)} "\\n```"')


FORMAT = Format(
    name="gemma-3",
    families="Gemma 2 and 3",
    documented="[Function calling with Gemma](https://ai.google.dev/gemma/docs/capabilities/function-calling)",
    detected_by=("<start_of_turn>",),
    marks=(OPEN,),
    read=_read,
    write=_write,
    grammar=_rules,
    rank=2,
    turns=("<start_of_turn>user",),
    ends=("<eos>", "<end_of_turn>"),
)
