"""DeepSeek V3.1: `<｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{...}<｜tool▁call▁end｜>`."""

from __future__ import annotations

from agents.formats.deepseek import mark
from agents.formats.named_form import NamedForm, named_format

FORMAT = named_format(
    "deepseek-v3.1",
    NamedForm(
        opening=rf"(?:{mark('tool calls begin')}\s*)?{mark('tool call begin')}\s*"
        rf"(?!function\s*{mark('tool sep')})(?P<name>[^\n<{{]+){mark('tool sep')}\s*",
        closing=rf"\s*(?:{mark('tool call end')})?\s*(?:{mark('tool calls end')})?",
        before="<｜tool▁call▁begin｜>",
        between="<｜tool▁sep｜>",
        after="<｜tool▁call▁end｜>",
        first="<｜tool▁calls▁begin｜>",
        last="<｜tool▁calls▁end｜>",
    ),
    families="DeepSeek V3.1",
    documented="[DeepSeek-V3.1](https://huggingface.co/deepseek-ai/DeepSeek-V3.1), "
    "vLLM's [deepseek_v31](https://docs.vllm.ai/en/latest/features/tool_calling/)",
    detected_by=("<｜tool▁calls▁begin｜>",),
    marks=("<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"),
)
