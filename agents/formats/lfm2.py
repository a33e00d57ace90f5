"""LFM2: `<|tool_call_start|>[NAME(KEY=VALUE, ...)]<|tool_call_end|>`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.formats.bare_json import read_bare_json
from agents.formats.calls import CallText, Item, Tools
from agents.formats.format import Format, Found, Functions
from agents.formats.grammar import Rules, literal
from agents.formats.python_block import find_python_blocks
from agents.formats.python_form import python_list, python_list_rule
from agents.formats.python_text import read_python

OPEN, CLOSE = "<|tool_call_start|>", "<|tool_call_end|>"
PYTHON = re.compile(r"\[\s*[A-Za-z_][\w.]*\(")


def _read(text: str, tools: Tools) -> list[Found]:
    def items(words: str) -> list[Item]:
        # It writes JSON where the system prompt asks for it.
        json = [] if PYTHON.match(words) else [found.item for found in read_bare_json(words, tools)]
        return json or read_python(words, tools)

    return find_python_blocks(text, re.compile(re.escape(OPEN)), CLOSE, items)


def _write(calls: Sequence[CallText]) -> str:
    return f"{OPEN}{python_list(calls)}{CLOSE}"


def _rules(rules: Rules, functions: Functions) -> str:
    return f"{literal(OPEN)} {python_list_rule(rules, functions)} {literal(CLOSE)}"


FORMAT = Format(
    name="lfm2",
    families="LFM2, LFM2.5",
    documented="[LFM2](https://huggingface.co/LiquidAI/LFM2-700M)",
    detected_by=(OPEN, "<|tool_list_start|>", "List of tools: ["),
    marks=(OPEN, CLOSE),
    read=_read,
    write=_write,
    grammar=_rules,
)
