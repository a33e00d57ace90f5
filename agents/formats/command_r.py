"""Command-R7B and later: `<|START_ACTION|>[{"tool_call_id": ..., "tool_name": ..., "parameters": {...}}]`."""

from __future__ import annotations

from agents.formats.json_form import JsonForm, json_format

FORMAT = json_format(
    "command-r",
    JsonForm(
        "<|START_ACTION|>",
        "<|END_ACTION|>",
        lead="",
        listed=True,
        head='{"tool_call_id": "0", "tool_name": ',
        middle=', "parameters": ',
    ),
    families="Command-R7B, Command-A, Cohere MoE",
    documented="[Cohere: tool use](https://docs.cohere.com/docs/tool-use-overview)",
    thoughts=(("<|START_THINKING|>", "<|END_THINKING|>"),),
    turns=(r"<\|START_TOOL_RESULT\|>",),
    markup=(r"<\|(?:START|END)_(?:RESPONSE|TEXT)\|>",),
    ends=("<|END_OF_TURN_TOKEN|>",),
)
