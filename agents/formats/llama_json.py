"""Llama 3's JSON: `{"name": ..., "parameters": {...}}` as the whole answer, also after `<|python_tag|>`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.formats.bare_json import read_bare_json
from agents.formats.calls import CallText, Tools
from agents.formats.form import format_of
from agents.formats.format import Found, Functions, too_many
from agents.formats.grammar import Rules
from agents.formats.json_form import JsonForm
from agents.formats.python_text import bracket_end, read_python

FORM = JsonForm("", middle=', "parameters": ')
TAG = "<|python_tag|>"
CALL = re.compile(r"\s*[A-Za-z_][\w.]*\(")


def _read(text: str, tools: Tools) -> list[Found]:
    head, *codes = text.split(TAG)
    found = read_bare_json(head, tools)
    place = len(head)
    for code in codes:
        start, place = place, place + len(TAG) + len(code)
        items = [each.item for each in read_bare_json(code, tools)] or read_python(_expression(code), tools)
        found += [Found(start, place, item) for item in items]
        if too_many(found, text):
            break
    return found


def _expression(code: str) -> str:
    """Return the call with which the text begins, without words after it; all of the text if it is none."""
    begin = CALL.match(code)
    end = bracket_end(code, begin.end() - 1) if begin else None
    return code if end is None else code[:end]


def _write(calls: Sequence[CallText]) -> str:
    return "; ".join(FORM.text([call]) for call in calls)


def _rules(rules: Rules, functions: Functions) -> str:
    return rules.add("calls", f'"<|python_tag|>"? {FORM.rules(rules, functions)}')


FORMAT = format_of(
    "llama-json",
    FORM,
    families="Llama 3.1, 3.2, 3.3",
    documented="[Llama 3.1: prompt formats](https://www.llama.com/docs/model-cards-and-prompt-formats/llama3_1/)",
    detected_by=('{"name": function name, "parameters":', TAG),
    marks=(TAG,),
    read=_read,
    write=_write,
    grammar=_rules,
    bare="{",
    rank=1,
    turns=(r"<\|start_header_id\|>(?:user|system|ipython|tool)",),
    markup=(r"<\|python_tag\|>",),
    ends=("<|eot_id|>", "<|eom_id|>", "<|eot|>", "<|end_of_text|>"),
)
