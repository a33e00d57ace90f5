"""Syntaxes whose calls are JSON after a mark."""

from __future__ import annotations

from typing import Any

from agents.formats.bare_json import read_bare_json
from agents.formats.calls import Item, Nonsense, call_of
from agents.formats.form import format_of
from agents.formats.json_form import JsonForm


def _read(record: Any, text: str) -> Item:
    if not isinstance(record, dict) or len(record) != 1:
        return Nonsense(
            "not_an_object", "a call must be an object with the tool's name as its only key", text
        )
    ((name, arguments),) = record.items()
    return call_of(name, arguments, text)


APERTUS = format_of(
    "apertus",
    JsonForm("<|tools_prefix|>", "<|tools_suffix|>", listed=True, head="{", middle=": ", read=_read),
    families="Apertus",
    documented="the template in llama.cpp: `Apertus-8B-Instruct.jinja`",
    thoughts=(("<|inner_prefix|>", "<|inner_suffix|>"),),
)
"""Apertus: `<|tools_prefix|>[{NAME: {...}}]<|tools_suffix|>`."""
COMMAND_R = format_of(
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
"""Command-R7B and later: `<|START_ACTION|>[{"tool_call_id": ..., "tool_name": ..., "parameters": {...}}]`."""
COMMAND_R_PLUS = format_of(
    "command-r-plus",
    JsonForm(
        "Action: ```json\n",
        also=r"Action:\s*```(?:json)?\s*(?=\[)",
        trail="\n```",
        listed=True,
        head='{"tool_name": ',
        middle=', "parameters": ',
    ),
    families="Command-R, Command-R+",
    documented="[Command R+](https://huggingface.co/CohereForAI/c4ai-command-r-plus)",
    detected_by=("Write 'Action:' followed by a json-formatted list of actions",),
    marks=("Action: ```json",),
)
"""Command-R+: `Action:` and a fenced JSON list of `{"tool_name": ..., "parameters": {...}}`."""
FUNCTOOLS = format_of(
    "functools",
    JsonForm("functools", also=r"functools(?=\s*\[)", listed=True),
    families="Firefunction v2",
    documented="the template in llama.cpp: `fireworks-ai-llama-3-firefunction-v2.jinja`",
    detected_by=("functools[",),
    marks=("functools[",),
    rank=1,
)
"""Firefunction: ` functools[{"name": ..., "arguments": {...}}]`."""
GIGACHAT = format_of(
    "gigachat",
    JsonForm("<|function_call|>", also=r"function call<\|role_sep\|>\n?"),
    families="GigaChat 3 and 3.1",
    documented="the templates in llama.cpp: `GigaChat3-10B-A1.8B.jinja`, `GigaChat3.1-10B-A1.8B.jinja`",
    detected_by=("<|function_call|>", "function call<|role_sep|>"),
    marks=("<|function_call|>", "function call<|role_sep|>"),
)
"""GigaChat 3: `<|function_call|>{"name": ..., "arguments": {...}}`, or a turn of the role `function call`."""
GRANITE20B = format_of(
    "granite-20b",
    JsonForm("<function_call>", lead=" "),
    families="Granite 20B Function Calling",
    documented="[Granite 20B](https://huggingface.co/ibm-granite/granite-20b-functioncalling), "
    "vLLM's `granite-20b-fc` [parser](https://docs.vllm.ai/en/latest/features/tool_calling/)",
)
"""Granite 20B function calling: `<function_call> {"name": ..., "arguments": {...}}`."""
GRANITE3 = format_of(
    "granite-3",
    JsonForm("<|tool_call|>", also=r"<tool_call>(?=\s*\[)", listed=True),
    families="Granite 3.0 to 3.3",
    documented="[Granite 3.3](https://huggingface.co/ibm-granite/granite-3.3-2b-instruct), "
    "vLLM's [granite](https://docs.vllm.ai/en/latest/features/tool_calling/)",
    detected_by=("<|tool_call|>",),
    rank=1,
    markup=("</?response>",),
)
"""Granite 3: `<|tool_call|>[{"name": ..., "arguments": {...}}]`."""
HERMES = format_of(
    "hermes",
    JsonForm("<tool_call>", "</tool_call>", lead="\n", trail="\n"),
    families="Hermes 2 and 3, Qwen2.5, Qwen3, QwQ, Granite 4, SmolLM3, Bielik, MiMo, Reka; "
    "templates without a form",
    documented="[Hermes-Function-Calling](https://github.com/NousResearch/Hermes-Function-Calling)",
    rank=1,
    turns=(r"<\|im_start\|>\s*(?:user|system|tool)", r"<\|?tool_re(?:sponse|sult)s?\|?>"),
    ends=("<|im_end|>", "<|endoftext|>"),
)
"""Hermes: `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`."""
INTERNLM2 = format_of(
    "internlm2",
    JsonForm(
        "<|action_start|><|plugin|>",
        "<|action_end|>",
        also=r"<\|action_start\|>\s*<\|plugin\|>",
        lead="\n",
        middle=', "parameters": ',
    ),
    families="InternLM 2 and 2.5",
    documented="vLLM's `internlm` [parser](https://docs.vllm.ai/en/latest/features/tool_calling/)",
    detected_by=("<|action_start|>",),
)
"""InternLM 2 and 2.5: `<|action_start|><|plugin|>{"name": ..., "parameters": {...}}<|action_end|>`."""
LONGCAT = format_of(
    "longcat",
    JsonForm("<longcat_tool_call>", "</longcat_tool_call>", lead="\n", trail="\n"),
    families="LongCat-Flash",
    documented="vLLM's `longcat` [parser](https://docs.vllm.ai/en/latest/features/tool_calling/)",
)
"""LongCat-Flash: `<longcat_tool_call>{"name": ..., "arguments": {...}}</longcat_tool_call>`."""
MISTRAL = format_of(
    "mistral",
    JsonForm("[TOOL_CALLS]", also=r"\[TOOL_CALLS\](?=\s*[\[{])", listed=True),
    families="Mistral 7B v0.3, Nemo, Small 2409, Large 2407, Pixtral",
    documented="[mistral-common: tool calls](https://mistralai.github.io/mistral-common/)",
    detected_by=("[TOOL_CALLS][", "[TOOL_CALLS] [", "'[TOOL_CALLS]"),
    rank=1,
    thoughts=(("[THINK]", "[/THINK]"),),
    turns=(r"\[INST\]", r"\[TOOL_RESULTS\]"),
    ends=("</s>",),
)
"""Mistral, tokenizers of version 1 to 7: `[TOOL_CALLS][{"name": ..., "arguments": {...}}]`."""
NEMOTRON = format_of(
    "nemotron",
    JsonForm("<TOOLCALL>", "</TOOLCALL>", listed=True),
    families="Nemotron Nano 2, Llama Nemotron Nano",
    documented="[Nemotron Nano 9B v2](https://huggingface.co/nvidia/NVIDIA-Nemotron-Nano-9B-v2)",
)
"""Nemotron Nano 2: `<TOOLCALL>[{"name": ..., "arguments": {...}}]</TOOLCALL>`."""
PHI4_MINI = format_of(
    "phi-4-mini",
    JsonForm("<|tool_call|>", "<|/tool_call|>", also=r"<\|tool_calls\|>|functools(?=\s*\[)", listed=True),
    families="Phi-4-mini",
    documented="[Phi-4-mini](https://huggingface.co/microsoft/Phi-4-mini-instruct), "
    "vLLM's [phi4_mini_json](https://docs.vllm.ai/en/latest/features/tool_calling/)",
    detected_by=("<|/tool|>", "<|/tool_call|>"),
    marks=("<|tool_call|>", "<|/tool_call|>", "<|tool_calls|>", "<|/tool_calls|>"),
    ends=("<|end_of_turn|>",),
)
"""Phi-4-mini: `<|tool_call|>[{"name": ..., "arguments": {...}}]<|/tool_call|>`, or after `functools`."""
TOOL_CALLS = format_of(
    "tool-calls",
    JsonForm("<tool_calls>", "</tool_calls>", listed=True),
    families="Apriel 1.5 and 1.6, MiniMax M1",
    documented="the templates in llama.cpp: `unsloth-Apriel-1.5.jinja`, `MiniMax-M1.jinja`",
    rank=1,
    thoughts=(("Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"),),
)
"""A block `<tool_calls>` of JSON: a list (Apriel), or an object on each line (MiniMax M1)."""
XLAM = format_of(
    "xlam",
    JsonForm("", listed=True),
    families="xLAM 2, models that answer with plain JSON",
    documented="[xLAM](https://github.com/SalesforceAIResearch/xLAM), "
    "vLLM's [xlam](https://docs.vllm.ai/en/latest/features/tool_calling/)",
    detected_by=('[{"name": "tool_call_name"', '[{"name": "func_name1"'),
    read=read_bare_json,
    bare="[",
    rank=1,
    unasked="always",
)
"""xLAM: `[{"name": ..., "arguments": {...}}]` as the whole answer; also one object, or in a fence."""
