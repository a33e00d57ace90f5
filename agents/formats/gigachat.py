"""GigaChat 3: `<|function_call|>{"name": ..., "arguments": {...}}`, or a turn of the role `function call`."""

from __future__ import annotations

from agents.formats.json_form import JsonForm, json_format

FORMAT = json_format(
    "gigachat",
    JsonForm("<|function_call|>", also=r"function call<\|role_sep\|>\n?"),
    families="GigaChat 3 and 3.1",
    documented="the templates in llama.cpp: `GigaChat3-10B-A1.8B.jinja`, `GigaChat3.1-10B-A1.8B.jinja`",
    detected_by=("<|function_call|>", "function call<|role_sep|>"),
    marks=("<|function_call|>", "function call<|role_sep|>"),
)
