"""GLM: `<tool_call>NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value></tool_call>`."""

from __future__ import annotations

from agents.formats.parameters_form import ParametersForm, parameters_format

TAG = r"(?::\w+)?>"
"""The end of a mark; Hy3 writes a word after a colon into each."""

FORMAT = parameters_format(
    "glm",
    ParametersForm(
        opening=rf"(?:<tool_calls{TAG}\s*)?<tool_call{TAG}[ \t]*(?P<name>[^\s<>{{}}\[\]\"']+)\s*"
        rf"(?:<tool_sep{TAG})?(?=\s*(?:<arg_key|</tool_call))",
        closing=rf"</tool_call{TAG}(?:\s*</tool_calls{TAG})?",
        parameter=rf"<arg_key{TAG}(?P<key>.*?)</arg_key{TAG}\s*<arg_value{TAG}(?P<value>.*?)</arg_value{TAG}",
        before="<tool_call>",
        after_name="\n",
        after="</tool_call>",
        before_key="<arg_key>",
        after_key="</arg_key>\n<arg_value>",
        after_value="</arg_value>\n",
    ),
    families="GLM 4.5 to 4.7, Ling 3, Spark 2.5, Laguna, Hy3",
    documented="vLLM's `glm45` and `glm47` [parsers](https://docs.vllm.ai/en/latest/features/tool_calling/)",
    detected_by=("<arg_key>",),
    marks=("<tool_call>", "</tool_call>", "<arg_key>", "<arg_value>"),
    turns=(r"<\|(?:user|system|observation)\|>",),
)
