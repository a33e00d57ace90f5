"""ChatML as the shipped model speaks it: Qwen3's marks, with one short line a tool in the system prompt.

The line a tool holds its name, its description and the JSON type of each argument: a full JSON schema costs
three times the tokens and tells a model of this size nothing more.
"""

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

CHAT_TEMPLATE = r"""
{%- macro schema_type(schema) -%}
{{- (schema.type if schema.type is string else 'any') | tojson -}}
{%- endmacro -%}
{%- set ns = namespace(system='', rest=messages) %}
{%- if messages and messages[0].role == 'system' %}
{%- set ns.system = messages[0].content %}
{%- set ns.rest = messages[1:] %}
{%- endif %}
{%- if ns.system or tools %}
{{- '<|im_start|>system\n' ~ ns.system }}
{%- if tools %}
{{- '\n\n# Tools\n\n<tools>' }}
{%- for tool in tools %}
{%- set function = tool.function if tool.function is defined else tool %}
{{- '\n{"name": ' ~ (function.name | tojson) ~ ', "arguments": {' }}
{%- for name, schema in ((function.parameters or {}).properties or {}).items() %}
{{- (name | tojson) ~ ': ' ~ schema_type(schema) }}
{%- if not loop.last %}{{- ', ' }}{%- endif %}
{%- endfor %}
{{- '}, "description": ' ~ (function.description | default('') | tojson) ~ '}' }}
{%- endfor %}
{{- '\n</tools>\n\nCall a tool as\n<tool_call>\n{"name": NAME, "arguments": {...}}\n</tool_call>' }}
{%- endif %}
{{- '<|im_end|>\n' }}
{%- endif %}
{%- for message in ns.rest %}
{%- if message.role == 'assistant' %}
{{- '<|im_start|>assistant\n' ~ (message.content or '') }}
{%- for call in message.tool_calls or [] %}
{%- set function = call.function if call.function is defined else call %}
{%- if not (loop.first and not message.content) %}{{- '\n' }}{%- endif %}
{{- '<tool_call>\n{"name": ' ~ (function.name | tojson) ~ ', "arguments": ' }}
{{- function.arguments if function.arguments is string else function.arguments | tojson }}
{{- '}\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\n' }}
{%- elif message.role == 'tool' %}
{%- if loop.first or ns.rest[loop.index0 - 1].role != 'tool' %}{{- '<|im_start|>user' }}{%- endif %}
{{- '\n<tool_response>\n' ~ message.content ~ '\n</tool_response>' }}
{%- if loop.last or ns.rest[loop.index0 + 1].role != 'tool' %}{{- '<|im_end|>\n' }}{%- endif %}
{%- else %}
{{- '<|im_start|>' ~ message.role ~ '\n' ~ message.content ~ '<|im_end|>\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\n' }}
{%- endif %}
""".strip()


def system_text(system_prompt: str, schemas: Sequence[Mapping[str, Any]]) -> str:
    """The system turn of the template, written without jinja so that training has no need of it."""
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
    """The user's turn and the head of the answer."""
    return f"<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n"


def call_text(name: str, arguments: Mapping[str, Any]) -> str:
    """What the model writes to call a tool, with the mark that ends its turn."""
    return (
        f'<tool_call>\n{{"name": {_dumps(name)}, "arguments": {_dumps(arguments)}}}\n</tool_call><|im_end|>'
    )


def response_text(content: str) -> str:
    """A tool's result, and the head of the next answer."""
    return (
        f"\n<|im_start|>user\n<tool_response>\n{content}\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
    )


def answer_text(text: str) -> str:
    """The last words of the model."""
    return f"{text}<|im_end|>"


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
