"""Functionary 3.2: `>>>NAME` and a JSON object on the next line; the template writes the first `>>>`."""

from __future__ import annotations

import re

from agents.formats.calls import Tools
from agents.formats.format import Format, Found, Functions
from agents.formats.grammar import Rules, literal
from agents.formats.named_form import NamedForm, find_named

FORM = NamedForm(
    opening=r"(?:\A|>>>)(?!all\n)(?P<name>[\w.-]+)\n\s*(?=\{)",
    closing=r"\s*",
    before=">>>",
    between="\n",
    after="",
    separator="\n",
)
OPENING = re.compile(FORM.opening)


def _read(text: str, tools: Tools) -> list[Found]:
    found = find_named(text, OPENING, re.compile(FORM.closing))
    return [each for each in found if each.start or _names_a_tool(text, tools)]


def _names_a_tool(text: str, tools: Tools) -> bool:
    """Return whether the first line, which stands without a mark, is a tool's name."""
    return text.startswith(">>>") or text.partition("\n")[0] in tools.names


def _rules(rules: Rules, functions: Functions) -> str:
    call = rules.choice(
        "call-body",
        functions,
        lambda name, schema, rule: f"{literal(name + FORM.between)} {rules.object_of(schema, rule)}",
    )
    return rules.add("call", f'">>>"? {call}')


FORMAT = Format(
    name="functionary-3.2",
    families="Functionary 3.2",
    documented="[Functionary](https://github.com/MeetKai/functionary)",
    detected_by=(">>>all", ">>>${recipient}"),
    marks=(),
    begins=r"(?:\A|>>>)",
    read=_read,
    write=FORM.text,
    grammar=_rules,
    opens=(">>>",),
)
