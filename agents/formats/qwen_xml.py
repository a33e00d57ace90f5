"""Qwen's XML: `<tool_call><function=NAME><parameter=KEY>VALUE</parameter></function></tool_call>`."""

from __future__ import annotations

from agents.formats.parameters_form import ParametersForm, parameters_format

FORMAT = parameters_format(
    "qwen-xml",
    ParametersForm(
        opening=r"(?:<(?:seed:)?tool_call>\s*)?<function=(?P<name>[^<>{}\n]+)>(?!\s*\{)",
        closing=r"</function>(?:\s*</(?:seed:)?tool_call>)?|</(?:seed:)?tool_call>",
        parameter=r"<parameter=(?P<key>[^<>\n]+)>(?P<value>.*?)"
        # One that is not closed ends where the next one begins.
        r"(?:</parameter>|(?=\n[ \t]*<parameter=)|\Z)",
        before="<tool_call>\n<function=",
        after_name=">\n",
        after="</function>\n</tool_call>",
        before_key="<parameter=",
        after_key=">\n",
        after_value="\n</parameter>\n",
    ),
    families="Qwen3-Coder, Qwen3.5, Nemotron 3 Nano, Step 3.5, Seed-OSS",
    documented="vLLM's `qwen3_coder` and `seed_oss` [parsers](https://docs.vllm.ai/en/latest/features/tool_calling/)",
    detected_by=("<function=example_function_name>\n<parameter", "<parameter="),
    marks=("<tool_call>", "<seed:tool_call>", "<function=", "<parameter=", "</function>"),
    thoughts=(("<seed:think>", "</seed:think>"),),
)
