"""All syntaxes of tool calls: those that an installed package registers."""

from __future__ import annotations

from functools import cache

from agents.formats.calls import Tools
from agents.formats.format import Format
from agents.formats.json_formats import HERMES
from devices.registry import Registry

FORMATS: Registry[Format] = Registry("pathrig.formats", Format)
"""Every syntax, by name."""
PLAIN = HERMES
"""What a model is asked for whose template knows no form."""


@cache
def formats() -> tuple[Format, ...]:
    """Return all syntaxes in the order in which they are asked."""
    return tuple(sorted(FORMATS.values(), key=lambda form: form.rank))


def without_no_calls(text: str, tools: Tools) -> str:
    """Return a text with spaces in place of what looks like a call in some syntax and is none."""
    for form in formats():
        if form.no_call is not None:
            text = form.no_call(text, tools)
    return text
