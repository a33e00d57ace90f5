"""Phi-4-mini: `<|tool_call|>[{"name": ..., "arguments": {...}}]<|/tool_call|>`, or after `functools`."""

from __future__ import annotations

from agents.formats.json_form import JsonForm, json_format

FORMAT = json_format(
    "phi-4-mini",
    JsonForm("<|tool_call|>", "<|/tool_call|>", also=r"<\|tool_calls\|>|functools(?=\s*\[)", listed=True),
    families="Phi-4-mini",
    documented="[Phi-4-mini](https://huggingface.co/microsoft/Phi-4-mini-instruct), "
    "vLLM's [phi4_mini_json](https://docs.vllm.ai/en/latest/features/tool_calling/)",
    detected_by=("<|/tool|>", "<|/tool_call|>"),
    marks=("<|tool_call|>", "<|/tool_call|>", "<|tool_calls|>", "<|/tool_calls|>"),
    ends=("<|end_of_turn|>",),
)
