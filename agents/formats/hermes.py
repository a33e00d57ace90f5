"""Hermes: `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`."""

from __future__ import annotations

from agents.formats.json_form import JsonForm, json_format

FORMAT = json_format(
    "hermes",
    JsonForm("<tool_call>", "</tool_call>", lead="\n", trail="\n"),
    families="Hermes 2 and 3, Qwen2.5, Qwen3, QwQ, Granite 4, SmolLM3, Bielik, MiMo, Reka; "
    "templates without a form",
    documented="[Hermes-Function-Calling](https://github.com/NousResearch/Hermes-Function-Calling)",
    rank=1,
    turns=(r"<\|im_start\|>\s*(?:user|system|tool)", r"<\|?tool_re(?:sponse|sult)s?\|?>"),
    ends=("<|im_end|>", "<|endoftext|>"),
)
