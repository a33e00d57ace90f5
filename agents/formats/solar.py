"""Solar Open: `<|tool_call:begin|>ID<|tool_call:name|>NAME<|tool_call:args|>{...}<|tool_call:end|>`."""

from __future__ import annotations

from agents.formats.named_form import NamedForm, named_format

FORMAT = named_format(
    "solar",
    NamedForm(
        opening=r"(?:<\|tool_calls\|>\s*)?<\|tool_call:begin\|>[^<]*<\|tool_call:name\|>\s*(?P<name>[^\s<>{}]+)\s*"
        r"<\|tool_call:args\|>\s*",
        closing=r"\s*(?:<\|tool_call:end\|>)?",
        before="<|tool_call:begin|>call0<|tool_call:name|>",
        between="<|tool_call:args|>",
        after="<|tool_call:end|>",
        first="<|tool_calls|>",
    ),
    families="Solar Open",
    documented="the template in llama.cpp: `upstage-Solar-Open-100B.jinja`",
    detected_by=("<|tool_call:begin|>",),
    marks=("<|tool_calls|>", "<|tool_call:begin|>", "<|tool_call:name|>", "<|tool_call:args|>"),
    markup=(r"<\|content\|>",),
)
