"""Kimi K2: `<|tool_call_begin|>functions.NAME:NUMBER<|tool_call_argument_begin|>{...}<|tool_call_end|>`."""

from __future__ import annotations

from agents.formats.named_form import NamedForm, named_format

FORMAT = named_format(
    "kimi-k2",
    NamedForm(
        opening=r"(?:<\|tool_calls_section_begin\|>[^<]{0,200})?<\|tool_call_begin\|>\s*"
        r"(?:functions\.)?(?P<name>[^\s:<>{}]+)(?::\d+)?\s*<\|tool_call_argument_begin\|>\s*",
        closing=r"\s*(?:<\|tool_call_end\|>)?\s*(?:<\|tool_calls_section_end\|>)?",
        before="<|tool_call_begin|>functions.",
        between=":0<|tool_call_argument_begin|>",
        after="<|tool_call_end|>",
        first="<|tool_calls_section_begin|>",
        last="<|tool_calls_section_end|>",
    ),
    families="Kimi K2",
    documented="[Kimi-K2: tool calls](https://huggingface.co/moonshotai/Kimi-K2-Instruct), "
    "vLLM's [kimi_k2](https://docs.vllm.ai/en/latest/features/tool_calling/)",
    detected_by=("<|tool_calls_section_begin|>",),
    marks=("<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<|tool_call_argument_begin|>"),
)
