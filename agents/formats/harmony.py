"""gpt-oss, harmony: a message on the channel `commentary` to `functions.NAME`."""

from __future__ import annotations

from agents.formats.form import format_of
from agents.formats.format import Functions
from agents.formats.grammar import Rules, literal
from agents.formats.named_form import NamedForm

FORM = NamedForm(
    opening=r"(?:<\|start\|>assistant\s*)?(?:<\|channel\|>\s*\w+\s*)?to=(?:functions\.)?(?!assistant\b|user\b)(?P<name>[\w.-]+)"
    r"(?:(?!<\|message\|>|<\|start\|>|<\|end\|>|<\|call\|>)[\s\S]){0,120}<\|message\|>\s*",
    closing=r"\s*(?:<\|call\|>|<\|end\|>)?",
    written="<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{arguments}<|call|>",
)


def _rules(rules: Rules, functions: Functions) -> str:
    between = '( " "? ( "<|constrain|>" | "<|channel|>commentary" " "? "<|constrain|>"? )? "json"? )'
    call = rules.choice(
        "call-body",
        functions,
        lambda name, schema, rule: " ".join(
            (literal(f"to=functions.{name}"), between, '"<|message|>"', rules.object_of(schema, rule))
        ),
    )
    return rules.add("call", f'( "<|channel|>commentary " )? {call} "<|call|>"?')


FORMAT = format_of(
    "harmony",
    FORM,
    families="gpt-oss",
    documented="[OpenAI harmony](https://github.com/openai/harmony/blob/main/docs/format.md)",
    detected_by=("<|channel|>",),
    marks=("to=functions.", "<|call|>"),
    begins=r"(?:<\|channel\|>commentary )?to=functions\.",
    grammar=_rules,
    opens=("to=functions.", "<|channel|>commentary to="),
    asides=(
        r"(?:<\|start\|>assistant)?<\|channel\|>analysis(?:(?!to=)[^<])*<\|message\|>"
        r"(?P<words>.*?)(?:<\|end\|>|\Z)",
    ),
    turns=(r"<\|start\|>(?:user|system|functions)",),
    markup=(r"(?:<\|start\|>assistant)?<\|channel\|>\w+\s*<\|message\|>", r"<\|end\|>"),
    ends=("<|return|>", "<|call|>"),
)
