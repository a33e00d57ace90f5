"""Functionary 3.1, Llama 3.1 with own tools: `<function=NAME>{...}</function>`."""

from __future__ import annotations

from agents.formats.named_form import NamedForm, named_format

FORMAT = named_format(
    "functionary-3.1",
    NamedForm(
        opening=r"(?:<tool_call>\s*)?<function=(?P<name>[^<>{}\n]+)>\s*(?=\{)",
        closing=r"\s*</function>(?:\s*</tool_call>)?",
        before="<function=",
        between=">",
        after="</function>",
    ),
    families="Functionary 3.1, Llama 3.1 with own tools",
    documented="[Functionary](https://github.com/MeetKai/functionary), "
    "[Llama 3.1](https://www.llama.com/docs/model-cards-and-prompt-formats/llama3_1/)",
    detected_by=("<function=example_function_name>{{", "<function=example_function_name>{"),
    marks=("<function=", "</function>"),
)
