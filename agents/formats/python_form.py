"""Write and constrain calls that are Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agents.formats.calls import CallText, is_text, to_json
from agents.formats.format import Functions
from agents.formats.grammar import Rules, literal

STRING = r"""( "'" ( [^'\\\x00-\x1f] | "\\" [^\x00-\x1f] )* "'" )"""
"""A string in single quotes; one in double quotes is as in JSON."""


def python_call(call: CallText) -> str:
    """Return a call as Python."""
    return f"{call.name}({', '.join(f'{key}={value!r}' for key, value in call.arguments.items())})"


def python_list(calls: Sequence[CallText]) -> str:
    """Return calls as a Python list of them."""
    return f"[{', '.join(python_call(call) for call in calls)}]"


def python_call_rule(rules: Rules, functions: Functions) -> str:
    """Return the grammar of one call."""

    def value(schema: Mapping[str, Any], rule: str) -> str:
        if is_text(schema):
            values = [
                literal(quoted) for text in schema.get("enum", ()) for quoted in (repr(text), to_json(text))
            ]
            return rules.add(rule, " | ".join(values) if values else f"string | {STRING}")
        plain = {"boolean": '( "True" | "False" )', "null": '"None"'}.get(str(schema.get("type")))
        return plain or rules.value_of(schema, rule)

    return rules.choice(
        "call-body",
        functions,
        lambda name, schema, rule: " ".join(
            (
                literal(f"{name}("),
                rules.members_of(schema, rule, lambda key: f"{key}=", value),
                '")"',
            )
        ),
    )


def python_list_rule(rules: Rules, functions: Functions) -> str:
    """Return the grammar of a list of calls."""
    call = python_call_rule(rules, functions)
    return rules.add("calls", f'"[" {call} ( "," " "? {call} )* "]"')
