"""InternLM 2 and 2.5: `<|action_start|><|plugin|>{"name": ..., "parameters": {...}}<|action_end|>`."""

from __future__ import annotations

from agents.formats.json_form import JsonForm, json_format

FORMAT = json_format(
    "internlm2",
    JsonForm(
        "<|action_start|><|plugin|>",
        "<|action_end|>",
        also=r"<\|action_start\|>\s*<\|plugin\|>",
        lead="\n",
        middle=', "parameters": ',
    ),
    families="InternLM 2 and 2.5",
    documented="vLLM's `internlm` [parser](https://docs.vllm.ai/en/latest/features/tool_calling/)",
    detected_by=("<|action_start|>",),
)
