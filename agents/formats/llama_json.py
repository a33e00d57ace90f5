"""Llama 3's JSON: `{"name": ..., "parameters": {...}}` as the whole answer, also after `<|python_tag|>`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.formats.bare_json import read_bare_json
from agents.formats.calls import CallText, Tools
from agents.formats.format import Format, Found, Functions
from agents.formats.grammar import Rules
from agents.formats.json_form import JsonForm
from agents.formats.python_text import read_python

FORM = JsonForm("", middle=', "parameters": ')
TAG = "<|python_tag|>"


def _read(text: str, tools: Tools) -> list[Found]:
    head, tag, code = text.partition(TAG)
    found = read_bare_json(code if tag else text, tools)
    if not tag:
        return found
    items = [each.item for each in found] or read_python(code, tools)
    return [Found(len(head), len(text), item) for item in items]


def _write(calls: Sequence[CallText]) -> str:
    return "; ".join(FORM.text([call]) for call in calls)


def _rules(rules: Rules, functions: Functions) -> str:
    return rules.add("calls", f'"<|python_tag|>"? {FORM.rules(rules, functions)}')


FORMAT = Format(
    name="llama-json",
    families="Llama 3.1, 3.2, 3.3",
    documented="[Llama 3.1: prompt formats](https://www.llama.com/docs/model-cards-and-prompt-formats/llama3_1/)",
    detected_by=('{"name": function name, "parameters":', TAG),
    marks=(TAG,),
    begins=re.compile(r'\A\s*(?:<\|python_tag\|>)?\s*\{\s*"(?:name|parameters)"'),
    read=_read,
    write=_write,
    grammar=_rules,
    bare="{",
)
