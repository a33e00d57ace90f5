"""Granite 20B function calling: `<function_call> {"name": ..., "arguments": {...}}`."""

from __future__ import annotations

from agents.formats.json_form import JsonForm, json_format

FORMAT = json_format(
    "granite-20b",
    JsonForm("<function_call>", lead=" "),
    families="Granite 20B Function Calling",
    documented="[Granite 20B](https://huggingface.co/ibm-granite/granite-20b-functioncalling), "
    "vLLM's `granite-20b-fc` [parser](https://docs.vllm.ai/en/latest/features/tool_calling/)",
)
