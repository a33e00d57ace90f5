"""Olmo 3: `<function_calls>NAME(KEY=VALUE, ...)</function_calls>`, a call on each line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.formats.calls import CallText, Tools
from agents.formats.format import Format, Found, Functions
from agents.formats.grammar import Rules, literal
from agents.formats.python_block import find_python_blocks
from agents.formats.python_form import python_call, python_call_rule
from agents.formats.python_text import read_python

OPEN, CLOSE = "<function_calls>", "</function_calls>"
OPENING = re.compile(rf"{OPEN}(?=\s*\[?\s*[A-Za-z_][\w.]*\s*\()")


def _read(text: str, tools: Tools) -> list[Found]:
    return find_python_blocks(text, OPENING, CLOSE, lambda words: read_python(words, tools))


def _write(calls: Sequence[CallText]) -> str:
    return OPEN + "\n".join(map(python_call, calls)) + CLOSE


def _rules(rules: Rules, functions: Functions) -> str:
    call = python_call_rule(rules, functions)
    return rules.add("calls", f'{literal(OPEN)} {call} ( "\\n" {call} )* {literal(CLOSE)}')


FORMAT = Format(
    name="olmo-3",
    families="Olmo 3",
    documented="vLLM's `olmo3` [parser](https://docs.vllm.ai/en/latest/features/tool_calling/)",
    detected_by=(OPEN,),
    marks=(OPEN, CLOSE),
    read=_read,
    write=_write,
    grammar=_rules,
)
