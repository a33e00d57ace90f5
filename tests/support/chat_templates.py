"""Chat templates in the manner of models that people use, written for the tests."""

QWEN25 = """
{%- if tools %}
{{- '<|im_start|>system\\n' + (messages[0]['content'] if messages[0]['role'] == 'system' else 'Help.') }}
{{- '\\n\\n# Tools\\n\\nFunction signatures within <tools></tools> XML tags:\\n<tools>' }}
{%- for tool in tools %}{{- '\\n' + (tool | tojson) }}{%- endfor %}
{{- '\\n</tools>\\n\\nReturn within <tool_call></tool_call> tags.<|im_end|>\\n' }}
{%- elif messages[0]['role'] == 'system' %}
{{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
{%- if message.role == 'user' or (message.role == 'assistant' and not message.tool_calls) %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- elif message.role == 'assistant' %}
{{- '<|im_start|>assistant' }}
{%- if message.content %}{{- '\\n' + message.content }}{%- endif %}
{%- for tool_call in message.tool_calls %}
{%- if tool_call.function is defined %}{%- set tool_call = tool_call.function %}{%- endif %}
{{- '\\n<tool_call>\\n{"name": "' + tool_call.name + '", "arguments": ' }}
{{- tool_call.arguments | tojson }}
{{- '}\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- elif message.role == 'tool' %}
{{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}
""".strip()

QWEN3 = QWEN25.replace(
    "{%- for message in messages %}",
    """{%- set last = namespace(query=0) %}
{%- for message in messages[::-1] %}
{%- if message.role == 'user' and last.query == 0 %}
{%- set last.query = messages|length - loop.index %}
{%- endif %}
{%- endfor %}
{%- for message in messages %}""",
).replace(
    "{%- if message.content %}{{- '\\n' + message.content }}{%- endif %}",
    """{%- set words = message.content %}
{%- if '</think>' in words %}
{%- set thought = words.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
{%- set words = words.split('</think>')[-1].lstrip('\\n') %}
{%- if loop.index0 > last.query %}
{{- '\\n<think>\\n' + thought + '\\n</think>\\n\\n' + words }}
{%- else %}
{{- '\\n' + words }}
{%- endif %}
{%- elif words %}
{{- '\\n' + words }}
{%- endif %}""",
)

WITHOUT_TOOLS = """
{{- bos_token }}
{%- for message in messages %}
{%- if message.role not in ('system', 'user', 'assistant') %}
{{- raise_exception('unknown role ' + message.role) }}
{%- endif %}
{%- if not loop.first and messages[loop.index0 - 1].role == message.role %}
{{- raise_exception('roles must alternate') }}
{%- endif %}
{{- '[' + message.role + '] ' + message.content + eos_token + '\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '[assistant] ' }}{%- endif %}
""".strip()

# Tools stand in the system message; calls and results are plain text.
PHI4_MINI = """
{%- for message in messages %}
{%- if message['role'] == 'system' and message['tools'] %}
{{- '<|system|>' + message['content'] + '<|tool|>' + message['tools'] + '<|/tool|><|end|>' }}
{%- else %}
{{- '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|assistant|>' }}{%- endif %}
""".strip()

# Roles alternate; the system prompt begins the first turn; there is no role for a result.
GEMMA3 = """
{{- bos_token }}
{%- set first = namespace(words='') %}
{%- if messages[0].role == 'system' %}
{%- set first.words = messages[0].content + '\\n\\n' %}
{%- set messages = messages[1:] %}
{%- endif %}
{%- for message in messages %}
{%- if (message.role == 'user') != (loop.index0 % 2 == 0) %}
{{- raise_exception('roles must alternate') }}
{%- endif %}
{{- '<start_of_turn>' + ('model' if message.role == 'assistant' else message.role) + '\\n' }}
{{- (first.words if loop.first else '') + message.content.strip() + '<end_of_turn>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<start_of_turn>model\\n' }}{%- endif %}
""".strip()

# Tools are a variable of another name.
SMOLLM3 = """
{%- set thinks = enable_thinking if enable_thinking is defined else true %}
{{- '<|im_start|>system\\n' + messages[0].content + ('/think' if thinks else '/no_think') }}
{%- if xml_tools %}
{{- '\\n### Tools\\n<tools>' }}
{%- for tool in xml_tools %}{{- '\\n' + (tool | tojson) }}{%- endfor %}
{{- '\\n</tools>\\n<tool_call>{"name": <function-name>, "arguments": <args-json-object>}</tool_call>' }}
{%- endif %}
{{- '<|im_end|>\\n' }}
{%- for message in messages[1:] %}
{{- '<|im_start|>' + ('user' if message.role == 'tool' else message.role) + '\\n' + message.content }}
{{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\\n' + ('' if thinks else '<think>\\n\\n</think>\\n') }}
{%- endif %}
""".strip()

# What transformers knows for training, and a pythonic syntax that is only described.
PYTHONIC = """
{{- bos_token + 'Answer [func_name1(params_name1=params_value1, ...)] to call a function of ' }}
{{- tools | tojson }}
{%- for message in messages %}
{%- if message.role == 'assistant' %}
{%- generation %}{{- '\\nassistant: ' + message.content + eos_token }}{%- endgeneration %}
{%- else %}
{{- '\\n' + message.role + ': ' + message.content }}
{%- endif %}
{%- endfor %}
{{- '\\nassistant: ' }}
""".strip()

# Thoughts and words of an answer that calls may not both be given, as in gpt-oss.
THOUGHTS_OR_WORDS = QWEN25.replace(
    "{%- elif message.role == 'assistant' %}",
    """{%- elif message.role == 'assistant' %}
{%- if message.content and message.thinking %}
{{- raise_exception('Cannot pass both content and thinking with tool calls!') }}
{%- endif %}
{%- if message.thinking %}{{- '<think>' + message.thinking + '</think>' }}{%- endif %}""",
)


def asking(asks: str, prints: str) -> str:
    """A template that tells of one form of calls, and prints those that were made by `prints`."""
    return (
        "{%- for message in messages %}{{- '<|' + message.role + '|>' }}"
        "{%- if loop.first and tools %}{{- '" + asks + " ' }}"
        "{%- for tool in tools %}{{- tool | tojson }}{%- endfor %}{%- endif %}"
        "{%- for call in message.tool_calls or [] %}{%- set call = call.function %}"
        + prints
        + "{%- endfor %}"
        "{{- message.content + '<|end|>' }}{%- endfor %}{{- '<|assistant|>' }}"
    )


# What some templates print is no call in the form that they ask for.
MISPRINTED = {
    "text without quotes": (
        "pythonic",
        asking(
            "Answer [func_name1(param1=value1)].",
            "[{{ call.name }}({% for key, value in call.arguments.items() %}{{ key }}={{ value }}"
            "{{ ', ' if not loop.last }}{% endfor %})]",
        ),
    ),
    "numbers in quotes": (
        "pythonic",
        asking(
            "Answer [func_name1(param1=value1)].",
            '[{{ call.name }}({% for key, value in call.arguments.items() %}{{ key }}="{{ value }}"'
            "{{ ', ' if not loop.last }}{% endfor %})]",
        ),
    ),
    "no comma, in a template of Gemma's turns": (
        "pythonic",
        asking(
            "<start_of_turn>Answer [func_name1(params_name1=value1)].",
            "[{{ call.name }}({% for key, value in call.arguments.items() %}{{ key }}={{ value | tojson }}"
            "{% endfor %})]",
        ),
    ),
    "numbers as text": (
        "function-gemma",
        asking(
            "",
            "<start_function_call>call:{{ call.name }}{{ '{' }}"
            "{% for key, value in call.arguments.items() %}{{ key }}:<escape>{{ value }}<escape>"
            "{{ ',' if not loop.last }}{% endfor %}{{ '}' }}<end_function_call>",
        ),
    ),
    "without its mark": (
        "functools",
        asking(
            'Answer functools[{"name": [name], "arguments": [arguments]}].',
            '{"name": "{{ call.name }}", "arguments": {{ call.arguments }}}',
        ),
    ),
}
