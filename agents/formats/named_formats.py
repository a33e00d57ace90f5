"""Syntaxes in which a name stands before a JSON object of the arguments."""

from __future__ import annotations

from agents.formats.form import format_of
from agents.formats.named_form import NamedForm

BAR = "[｜|]"
SPACE = "[▁_ ]"


def mark(words: str) -> str:
    """Return a pattern of one of DeepSeek's marks, also as it is written in plain ASCII."""
    return f"<{BAR}{SPACE.join(words.split())}{BAR}>"


DEEPSEEK = format_of(
    "deepseek",
    NamedForm(
        opening=rf"(?:{mark('tool calls begin')}\s*)?{mark('tool call begin')}\s*function\s*"
        rf"{mark('tool sep')}"
        r"(?P<name>[^\n`{]+)\s*(?:```(?:json)?\s*)?",
        closing=rf"\s*(?:```)?\s*(?:{mark('tool call end')})?\s*(?:{mark('tool calls end')})?",
        written="<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{arguments}\n```<｜tool▁call▁end｜>",
        first="<｜tool▁calls▁begin｜>",
        last="<｜tool▁calls▁end｜>",
        separator="\n",
    ),
    families="DeepSeek V3, R1 and R1 Distill",
    documented="[DeepSeek-V3](https://huggingface.co/deepseek-ai/DeepSeek-V3), "
    "vLLM's [deepseek_v3](https://docs.vllm.ai/en/latest/features/tool_calling/)",
    detected_by=("<｜tool▁sep｜>' + tool['function']['name'] + '\\n' + '```json", "<｜tool▁calls▁begin｜>"),
    marks=("<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"),
    rank=1,
    turns=("<｜tool▁outputs?▁begin｜>", "<｜User｜>"),
    ends=("<｜end▁of▁sentence｜>",),
)
"""DeepSeek V3 and R1: a name and a fenced JSON object between marks of their own."""
DEEPSEEK_V31 = format_of(
    "deepseek-v3.1",
    NamedForm(
        opening=rf"(?:{mark('tool calls begin')}\s*)?{mark('tool call begin')}\s*"
        rf"(?!function\s*{mark('tool sep')})(?P<name>[^\n<{{]+){mark('tool sep')}\s*",
        closing=rf"\s*(?:{mark('tool call end')})?\s*(?:{mark('tool calls end')})?",
        written="<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{arguments}<｜tool▁call▁end｜>",
        first="<｜tool▁calls▁begin｜>",
        last="<｜tool▁calls▁end｜>",
    ),
    families="DeepSeek V3.1",
    documented="[DeepSeek-V3.1](https://huggingface.co/deepseek-ai/DeepSeek-V3.1), "
    "vLLM's [deepseek_v31](https://docs.vllm.ai/en/latest/features/tool_calling/)",
    detected_by=("<｜tool▁calls▁begin｜>",),
    marks=("<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"),
)
"""DeepSeek V3.1: `<｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{...}<｜tool▁call▁end｜>`."""
FUNCTIONARY31 = format_of(
    "functionary-3.1",
    NamedForm(
        opening=r"(?:<tool_call>\s*)?<function=(?P<name>[^<>{}\n]+)>\s*(?=\{)",
        closing=r"\s*</function>(?:\s*</tool_call>)?",
        written="<function={name}>{arguments}</function>",
    ),
    families="Functionary 3.1, Llama 3.1 with own tools",
    documented="[Functionary](https://github.com/MeetKai/functionary), "
    "[Llama 3.1](https://www.llama.com/docs/model-cards-and-prompt-formats/llama3_1/)",
    detected_by=("<function=example_function_name>{{", "<function=example_function_name>{"),
    marks=("<function=", "</function>"),
)
"""Functionary 3.1, Llama 3.1 with own tools: `<function=NAME>{...}</function>`."""
KIMI = format_of(
    "kimi-k2",
    NamedForm(
        opening=r"(?:<\|tool_calls_section_begin\|>[^<]{0,200})?<\|tool_call_begin\|>\s*"
        r"(?:functions\.)?(?P<name>[^\s:<>{}]+)(?::\d+)?\s*<\|tool_call_argument_begin\|>\s*",
        closing=r"\s*(?:<\|tool_call_end\|>)?\s*(?:<\|tool_calls_section_end\|>)?",
        written="<|tool_call_begin|>functions.{name}:0<|tool_call_argument_begin|>{arguments}<|tool_call_end|>",
        first="<|tool_calls_section_begin|>",
        last="<|tool_calls_section_end|>",
    ),
    families="Kimi K2",
    documented="[Kimi-K2: tool calls](https://huggingface.co/moonshotai/Kimi-K2-Instruct), "
    "vLLM's [kimi_k2](https://docs.vllm.ai/en/latest/features/tool_calling/)",
    detected_by=("<|tool_calls_section_begin|>",),
    marks=("<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<|tool_call_argument_begin|>"),
)
"""Kimi K2: `<|tool_call_begin|>functions.NAME:NUMBER<|tool_call_argument_begin|>{...}<|tool_call_end|>`."""
MISTRAL_ARGS = format_of(
    "mistral-args",
    NamedForm(
        opening=r"\[TOOL_CALLS\]\s*(?P<name>[^\[\]{}\s]+)\s*(?:\[CALL_ID\][^\[\]{}]*)?(?:\[ARGS\])?\s*",
        closing=r"\s*",
        written="[TOOL_CALLS]{name}[ARGS]{arguments}",
    ),
    families="Mistral Small 3.1 and later, Ministral 3, Magistral, Devstral",
    documented="[mistral-common: tool calls](https://mistralai.github.io/mistral-common/)",
    detected_by=("[ARGS]",),
    marks=("[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"),
)
"""Mistral, tokenizers of version 11 and later: `[TOOL_CALLS]NAME[ARGS]{...}`, perhaps with a `[CALL_ID]`."""
SOLAR = format_of(
    "solar",
    NamedForm(
        opening=r"(?:<\|tool_calls\|>\s*)?<\|tool_call:begin\|>[^<]*<\|tool_call:name\|>\s*(?P<name>[^\s<>{}]+)\s*"
        r"<\|tool_call:args\|>\s*",
        closing=r"\s*(?:<\|tool_call:end\|>)?",
        written="<|tool_call:begin|>call0<|tool_call:name|>{name}<|tool_call:args|>{arguments}<|tool_call:end|>",
        first="<|tool_calls|>",
    ),
    families="Solar Open",
    documented="the template in llama.cpp: `upstage-Solar-Open-100B.jinja`",
    detected_by=("<|tool_call:begin|>",),
    marks=("<|tool_calls|>", "<|tool_call:begin|>", "<|tool_call:name|>", "<|tool_call:args|>"),
    markup=(r"<\|content\|>",),
)
"""Solar Open: `<|tool_call:begin|>ID<|tool_call:name|>NAME<|tool_call:args|>{...}<|tool_call:end|>`."""
