"""The shipped model's conversations as text: what `agents.formats.chatml` renders, written without Jinja."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

CONTROL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
MARK_TOKENS = (
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    "<tools>",
    "</tools>",
    "<think>",
    "</think>",
)


def system_text(system_prompt: str, schemas: Sequence[Mapping[str, Any]]) -> str:
    """Return the system turn of the template, written without jinja so that training has no need of it."""
    lines = []
    for schema in schemas:
        function = schema["function"]
        arguments = {
            name: field["type"] if isinstance(field.get("type"), str) else "any"
            for name, field in function["parameters"]["properties"].items()
        }
        lines.append(
            f'{{"name": {_dumps(function["name"])}, "arguments": {_dumps(arguments)}, '
            f'"description": {_dumps(function["description"])}}}'
        )
    tools = "\n".join(lines)
    return (
        f"<|im_start|>system\n{system_prompt}\n\n# Tools\n\n<tools>\n{tools}\n</tools>\n\nCall a tool as\n"
        '<tool_call>\n{"name": NAME, "arguments": {...}}\n</tool_call><|im_end|>\n'
    )


def user_text(prompt: str) -> str:
    """Return the user's turn and the head of the answer."""
    return f"<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n"


def call_text(name: str, arguments: Mapping[str, Any]) -> str:
    """Return what the model writes to call a tool, with the mark that ends its turn."""
    return (
        f'<tool_call>\n{{"name": {_dumps(name)}, "arguments": {_dumps(arguments)}}}\n</tool_call><|im_end|>'
    )


def response_text(content: str) -> str:
    """Return a tool's result, and the head of the next answer."""
    return (
        f"\n<|im_start|>user\n<tool_response>\n{content}\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
    )


def answer_text(text: str) -> str:
    """Return the last words of the model."""
    return f"{text}<|im_end|>"


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
