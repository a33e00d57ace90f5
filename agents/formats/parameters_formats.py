"""Syntaxes in which each argument has marks of its own."""

from __future__ import annotations

from typing import Any

from agents.formats.form import format_of
from agents.formats.format import Format
from agents.formats.parameters_form import ParametersForm

TAG = r"(?::\w+)?>"
"""The end of a mark; Hy3 writes a word after a colon into each."""

GLM = format_of(
    "glm",
    ParametersForm(
        opening=rf"(?:<tool_calls{TAG}\s*)?<tool_call{TAG}[ \t]*(?P<name>[^\s<>{{}}\[\]\"']+)\s*"
        rf"(?:<tool_sep{TAG})?(?=\s*(?:<arg_key|</tool_call))",
        closing=rf"</tool_call{TAG}(?:\s*</tool_calls{TAG})?",
        parameter=rf"<arg_key{TAG}(?P<key>.*?)</arg_key{TAG}\s*<arg_value{TAG}(?P<value>.*?)</arg_value{TAG}",
        written="<tool_call>{name}\n{arguments}</tool_call>",
        argument="<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n",
    ),
    families="GLM 4.5 to 4.7, Ling 3, Spark 2.5, Laguna, Hy3",
    documented="vLLM's `glm45` and `glm47` [parsers](https://docs.vllm.ai/en/latest/features/tool_calling/)",
    detected_by=("<arg_key>",),
    marks=("<tool_call>", "</tool_call>", "<arg_key>", "<arg_value>"),
    turns=(r"<\|(?:user|system|observation)\|>",),
)
"""GLM: `<tool_call>NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value></tool_call>`."""
KIMI_K3 = format_of(
    "kimi-k3",
    ParametersForm(
        opening=r'(?:<\|open\|>tools<\|sep\|>\s*)?<\|open\|>call tool="(?P<name>[^"\n]+)"[^<]*<\|sep\|>',
        closing=r"<\|close\|>call<\|sep\|>(?:\s*<\|close\|>tools<\|sep\|>)?",
        parameter=r'<\|open\|>argument key="(?P<key>[^"\n]+)"[^<]*<\|sep\|>'
        r"(?P<value>.*?)<\|close\|>argument<\|sep\|>",
        written='<|open|>call tool="{name}"<|sep|>{arguments}<|close|>call<|sep|>',
        argument='<|open|>argument key="{key}"<|sep|>{value}<|close|>argument<|sep|>',
        first="<|open|>tools<|sep|>",
        last="<|close|>tools<|sep|>",
    ),
    families="Kimi K3",
    documented="the template in llama.cpp: `Kimi-K3.jinja`",
    detected_by=("<|open|>",),
    marks=("<|open|>call", "<|open|>argument", "<|open|>tools"),
    thoughts=(("<|open|>think<|sep|>", "<|close|>think<|sep|>"),),
    markup=(r"<\|(?:open|close)\|>response<\|sep\|>",),
)
"""Kimi K3: elements `call` and `argument` between `<|open|>`, `<|sep|>` and `<|close|>`."""
MINICPM = format_of(
    "minicpm",
    ParametersForm(
        opening=r'<function name="(?P<name>[^"\n]+)">',
        closing=r"</function>",
        parameter=r'<param name="(?P<key>[^"\n]+)">(?P<value>.*?)</param>',
        written='<function name="{name}">{arguments}</function>',
        argument='<param name="{key}">{value}</param>',
    ),
    families="MiniCPM 5",
    documented="the template in llama.cpp: `openbmb-MiniCPM5-1B.jinja`",
    detected_by=('<function name="',),
    marks=('<function name="', "<param name=", "</function>"),
)
"""MiniCPM 5: `<function name="NAME"><param name="KEY">VALUE</param></function>`."""
QWEN_XML = format_of(
    "qwen-xml",
    ParametersForm(
        opening=r"(?:<(?:seed:)?tool_call>\s*)?<function=(?P<name>[^<>{}\n]+)>(?!\s*\{)",
        closing=r"</function>(?:\s*</(?:seed:)?tool_call>)?|</(?:seed:)?tool_call>",
        parameter=r"<parameter=(?P<key>[^<>\n]+)>(?P<value>.*?)"
        # One that is not closed ends where the next one begins.
        r"(?:</parameter>|(?=\n[ \t]*<parameter=)|\Z)",
        written="<tool_call>\n<function={name}>\n{arguments}</function>\n</tool_call>",
        argument="<parameter={key}>\n{value}\n</parameter>\n",
    ),
    families="Qwen3-Coder, Qwen3.5, Nemotron 3 Nano, Step 3.5, Seed-OSS",
    documented="vLLM's `qwen3_coder` and `seed_oss` [parsers](https://docs.vllm.ai/en/latest/features/tool_calling/)",
    detected_by=("<function=example_function_name>\n<parameter", "<parameter="),
    marks=("<tool_call>", "<seed:tool_call>", "<function=", "<parameter=", "</function>"),
    thoughts=(("<seed:think>", "</seed:think>"),),
)
"""Qwen's XML: `<tool_call><function=NAME><parameter=KEY>VALUE</parameter></function></tool_call>`."""
STEP3 = format_of(
    "step-3",
    ParametersForm(
        opening=r"(?:<｜tool_calls_begin｜>\s*)?(?:<｜tool_sep｜>\s*)?(?:<｜tool_call_begin｜>\s*(?:function\s*<｜tool_sep｜>\s*)?)?"
        r'<steptml:invoke name="(?P<name>[^"\n]+)">',
        closing=r"</steptml:invoke>(?:\s*<｜tool_call_end｜>)?(?:\s*<｜tool_calls_end｜>)?",
        parameter=r'<steptml:parameter name="(?P<key>[^"\n]+)">(?P<value>.*?)</steptml:parameter>',
        written='<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="{name}">{arguments}'
        "</steptml:invoke><｜tool_call_end｜>",
        argument='<steptml:parameter name="{key}">{value}</steptml:parameter>',
        first="<｜tool_calls_begin｜>\n",
        last="\n<｜tool_calls_end｜>",
    ),
    families="Step 3",
    documented="vLLM's `step3` [parser](https://docs.vllm.ai/en/latest/features/tool_calling/)",
    detected_by=("steptml",),
    marks=("<｜tool_calls_begin｜>", "<｜tool_call_begin｜>", "<steptml:invoke", "<steptml:parameter"),
)
"""Step 3: `<steptml:invoke name="NAME"><steptml:parameter name="KEY">VALUE...` between DeepSeek's marks."""
BLOCK = r"(?:function_calls|tool_calls|tool_call)"


def _invoke(name: str, prefix: str, block: str, **facts: Any) -> Format:
    """Return the format `<invoke name="NAME"><parameter name="KEY">VALUE</parameter></invoke>`, prefixed."""
    tag = f"{block.rpartition(':')[0]}:{BLOCK}" if ":" in block and not prefix else f"{prefix}{BLOCK}"
    form = ParametersForm(
        opening=rf'(?:<{tag}>\s*)?<{prefix}invoke name="(?P<name>[^"\n]+)">',
        closing=rf"</{prefix}invoke>(?:\s*</{tag}>)?",
        parameter=rf'<{prefix}parameter name="(?P<key>[^"\n]+)"[^>]*>(?P<value>.*?)</{prefix}parameter>',
        written=f'<{prefix}invoke name="{{name}}">\n{{arguments}}</{prefix}invoke>',
        argument=f'<{prefix}parameter name="{{key}}">{{value}}</{prefix}parameter>\n',
        first=f"<{block}>\n",
        last=f"\n</{block}>",
    )
    marks = (f"<{block}>", f"<{prefix}invoke name=", f"</{prefix}invoke>")
    return format_of(name, form, marks=marks, detected_by=marks[:1], **facts)


MINIMAX = _invoke(
    "minimax",
    "",
    "minimax:tool_call",
    families="MiniMax M2",
    documented="vLLM's [minimax_m2](https://docs.vllm.ai/en/latest/features/tool_calling/)",
    thoughts=(("<mm:think>", "</mm:think>"),),
)
DEEPSEEK_DSML = _invoke(
    "deepseek-dsml",
    "｜DSML｜",
    "｜DSML｜function_calls",
    families="DeepSeek V3.2, V4",
    documented="vLLM's `deepseek_v32` and `deepseek_v4` [parsers](https://docs.vllm.ai/en/latest/features/tool_calling/)",
)
MUSE = _invoke(
    "muse",
    "atem:",
    "atem:function_calls",
    families="Muse Glimmer",
    documented="the template in llama.cpp: `muse-glimmer.jinja`",
)
