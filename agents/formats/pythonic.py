"""Pythonic lists: `[NAME(KEY=VALUE, ...), ...]` as the whole answer."""

from __future__ import annotations

import re

from agents.formats.calls import Tools
from agents.formats.format import Format, Found, too_many
from agents.formats.python_form import python_list, python_list_rule
from agents.formats.python_text import bracket_end, read_python

BEGINS = re.compile(r"(?m)^[ \t]*(?:<\|python_start\|>)?(?=\[\s*[A-Za-z_][\w.]*\()")


def _read(text: str, tools: Tools) -> list[Found]:
    found: list[Found] = []
    place = 0
    while (begin := BEGINS.search(text, place)) is not None and not too_many(found, text):
        end = bracket_end(text, begin.end()) or len(text)
        items = read_python(text[begin.end() : end], tools)
        place = end + len("<|python_end|>") if text.startswith("<|python_end|>", end) else end
        found += [Found(begin.start(), place, item) for item in items]
    return found


FORMAT = Format(
    name="pythonic",
    families="Llama 3.2 and Llama 4 as their cards ask, ToolACE, Gemma 3 with its list form",
    documented="[Llama 4: prompt formats](https://www.llama.com/docs/model-cards-and-prompt-formats/llama4/)",
    detected_by=("[func_name1(param", "<|python_start|>"),
    marks=("<|python_start|>", "<|python_end|>"),
    read=_read,
    write=python_list,
    grammar=python_list_rule,
    bare="[",
    rank=1,
    unasked="always",
)
