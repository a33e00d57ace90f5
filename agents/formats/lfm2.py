"""LFM2: `<|tool_call_start|>[NAME(KEY=VALUE, ...)]<|tool_call_end|>`."""

from __future__ import annotations

from collections.abc import Sequence

from agents.formats.bare_json import read_bare_json
from agents.formats.calls import CallText, Nonsense, Tools
from agents.formats.format import Format, Found, Functions, too_many
from agents.formats.grammar import Rules, literal
from agents.formats.python_form import python_list, python_list_rule
from agents.formats.python_text import read_python

OPEN, CLOSE = "<|tool_call_start|>", "<|tool_call_end|>"


def _read(text: str, tools: Tools) -> list[Found]:
    found: list[Found] = []
    place = 0
    while (start := text.find(OPEN, place)) >= 0 and not too_many(found, text):
        body = start + len(OPEN)
        close, following = text.find(CLOSE, body), text.find(OPEN, body)
        limit = min((end for end in (close, following) if end >= 0), default=len(text))
        place = limit + len(CLOSE) if limit == close else limit
        words = text[body:limit].strip()
        # It writes JSON where the system prompt asks for it.
        items = [f.item for f in read_bare_json(words, tools)] or read_python(words, tools)
        if limit != close and any(isinstance(item, Nonsense) for item in items):
            items = [Nonsense("unclosed", f"the call was not finished with {CLOSE}", words)]
        found += [Found(start, place, item) for item in items]
    return found


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
