"""xLAM: `[{"name": ..., "arguments": {...}}]` as the whole answer; also one object, or in a fence."""

from __future__ import annotations

from agents.formats.bare_json import read_bare_json
from agents.formats.format import Format
from agents.formats.json_form import JsonForm

FORM = JsonForm("", listed=True)

FORMAT = Format(
    name="xlam",
    families="xLAM 2, models that answer with plain JSON",
    documented="[xLAM](https://github.com/SalesforceAIResearch/xLAM), "
    "vLLM's [xlam](https://docs.vllm.ai/en/latest/features/tool_calling/)",
    detected_by=('[{"name": "tool_call_name"', '[{"name": "func_name1"'),
    marks=(),
    read=read_bare_json,
    write=FORM.text,
    grammar=FORM.rules,
    bare="[",
    rank=1,
    unasked="always",
)
