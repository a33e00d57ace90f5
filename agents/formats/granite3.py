"""Granite 3: `<|tool_call|>[{"name": ..., "arguments": {...}}]`."""

from __future__ import annotations

from agents.formats.json_form import JsonForm, json_format

FORMAT = json_format(
    "granite-3",
    JsonForm("<|tool_call|>", also=r"<tool_call>(?=\s*\[)", listed=True),
    families="Granite 3.0 to 3.3",
    documented="[Granite 3.3](https://huggingface.co/ibm-granite/granite-3.3-2b-instruct), "
    "vLLM's [granite](https://docs.vllm.ai/en/latest/features/tool_calling/)",
    detected_by=("<|tool_call|>",),
    rank=1,
    markup=("</?response>",),
)
