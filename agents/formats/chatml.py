"""The chat template of a GGUF that has none of its own: ChatML, as the shipped model was trained on.

The system prompt has one short line a tool, with its name, its description and the JSON type of each
argument: a full JSON schema costs three times the tokens and tells a model of that size nothing more.
"""

from __future__ import annotations

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
DECLINING_TEMPLATE = "{#- trained to decline -#}\n" + CHAT_TEMPLATE
"""The same, in the file of the model that ships, which learned to call `decline`."""


def is_trained_here(template: str) -> bool:
    """Return whether a model with that template was trained by this project, `decline` included."""
    return template.strip() == DECLINING_TEMPLATE
