"""A block `<tool_calls>` of JSON: a list (Apriel), or an object on each line (MiniMax M1)."""

from __future__ import annotations

from agents.formats.json_form import JsonForm, json_format

FORMAT = json_format(
    "tool-calls",
    JsonForm("<tool_calls>", "</tool_calls>", listed=True),
    families="Apriel 1.5 and 1.6, MiniMax M1",
    documented="the templates in llama.cpp: `unsloth-Apriel-1.5.jinja`, `MiniMax-M1.jinja`",
    rank=1,
    thoughts=(("Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"),),
)
