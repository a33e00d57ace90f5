"""Kimi K3: elements `call` and `argument` between `<|open|>`, `<|sep|>` and `<|close|>`."""

from __future__ import annotations

from agents.formats.parameters_form import ParametersForm, parameters_format

FORMAT = parameters_format(
    "kimi-k3",
    ParametersForm(
        opening=r'(?:<\|open\|>tools<\|sep\|>\s*)?<\|open\|>call tool="(?P<name>[^"\n]+)"[^<]*<\|sep\|>',
        closing=r"<\|close\|>call<\|sep\|>(?:\s*<\|close\|>tools<\|sep\|>)?",
        parameter=r'<\|open\|>argument key="(?P<key>[^"\n]+)"[^<]*<\|sep\|>'
        r"(?P<value>.*?)<\|close\|>argument<\|sep\|>",
        before='<|open|>call tool="',
        after_name='"<|sep|>',
        after="<|close|>call<|sep|>",
        before_key='<|open|>argument key="',
        after_key='"<|sep|>',
        after_value="<|close|>argument<|sep|>",
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
