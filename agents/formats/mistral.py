"""Mistral, tokenizers of version 1 to 7: `[TOOL_CALLS][{"name": ..., "arguments": {...}}]`."""

from __future__ import annotations

from agents.formats.json_form import JsonForm, json_format

FORMAT = json_format(
    "mistral",
    JsonForm("[TOOL_CALLS]", also=r"\[TOOL_CALLS\](?=\s*[\[{])", listed=True),
    families="Mistral 7B v0.3, Nemo, Small 2409, Large 2407, Pixtral",
    documented="[mistral-common: tool calls](https://mistralai.github.io/mistral-common/)",
    detected_by=("[TOOL_CALLS][", "[TOOL_CALLS] [", "'[TOOL_CALLS]"),
    rank=1,
    thoughts=(("[THINK]", "[/THINK]"),),
    turns=(r"\[INST\]", r"\[TOOL_RESULTS\]"),
    ends=("</s>",),
)
