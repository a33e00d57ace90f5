"""LongCat-Flash: `<longcat_tool_call>{"name": ..., "arguments": {...}}</longcat_tool_call>`."""

from __future__ import annotations

from agents.formats.json_form import JsonForm, json_format

FORMAT = json_format(
    "longcat",
    JsonForm("<longcat_tool_call>", "</longcat_tool_call>", lead="\n", trail="\n"),
    families="LongCat-Flash",
    documented="vLLM's `longcat` [parser](https://docs.vllm.ai/en/latest/features/tool_calling/)",
)
