"""DeepSeek V3 and R1: a name and a fenced JSON object between marks of their own."""

from __future__ import annotations

from agents.formats.named_form import NamedForm, named_format

BAR = "[｜|]"
SPACE = "[▁_ ]"


def mark(words: str) -> str:
    """Return a pattern of one of DeepSeek's marks, also as it is written in plain ASCII."""
    return f"<{BAR}{SPACE.join(words.split())}{BAR}>"


FORMAT = named_format(
    "deepseek",
    NamedForm(
        opening=rf"(?:{mark('tool calls begin')}\s*)?{mark('tool call begin')}\s*function\s*"
        rf"{mark('tool sep')}"
        r"(?P<name>[^\n`{]+)\s*(?:```(?:json)?\s*)?",
        closing=rf"\s*(?:```)?\s*(?:{mark('tool call end')})?\s*(?:{mark('tool calls end')})?",
        before="<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
        between="\n```json\n",
        after="\n```<｜tool▁call▁end｜>",
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
