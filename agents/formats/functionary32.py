"""Functionary 3.2: `>>>NAME` and a JSON object on the next line; the template writes the first `>>>`."""

from __future__ import annotations

from agents.formats.calls import Tools
from agents.formats.form import format_of
from agents.formats.format import Found, Functions
from agents.formats.grammar import Rules, literal
from agents.formats.named_form import NamedForm

FORM = NamedForm(
    opening=r"(?:\A|>>>)(?!all\n)(?P<name>[\w.-]+)\n\s*(?=\{)",
    closing=r"\s*",
    written=">>>{name}\n{arguments}",
    separator="\n",
)


def _read(text: str, tools: Tools) -> list[Found]:
    return [each for each in FORM.find(text, tools) if each.start or _names_a_tool(text, tools)]


def _names_a_tool(text: str, tools: Tools) -> bool:
    """Return whether the first line, which stands without a mark, is a tool's name."""
    return text.startswith(">>>") or text.partition("\n")[0] in tools.names


def _rules(rules: Rules, functions: Functions) -> str:
    call = rules.choice(
        "call-body",
        functions,
        lambda name, schema, rule: " ".join((literal(name + "\n"), rules.object_of(schema, rule))),
    )
    return rules.add("call", f'">>>"? {call}')


FORMAT = format_of(
    "functionary-3.2",
    FORM,
    families="Functionary 3.2",
    documented="[Functionary](https://github.com/MeetKai/functionary)",
    detected_by=(">>>all", ">>>${recipient}"),
    begins=r"(?:\A|>>>)",
    read=_read,
    grammar=_rules,
    opens=(">>>",),
)
