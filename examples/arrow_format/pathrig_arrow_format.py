"""A family that calls a tool as `[call] NAME -> {...} [end]`, and thinks in `[plan] ... [/plan]`."""

from __future__ import annotations

from agents.formats.form import format_of
from agents.formats.named_form import NamedForm

ARROW = format_of(
    "arrow",
    NamedForm(
        opening=r"\[call\]\s*(?P<name>[\w.-]+)\s*->\s*",
        closing=r"\s*(?:\[end\])?",
        written="[call] {name} -> {arguments} [end]",
    ),
    families="Arrow",
    documented="docs/own-model.md",
    detected_by=("[call]",),
    marks=("[call]", "[end]"),
    thoughts=(("[plan]", "[/plan]"),),
    ends=("[done]",),
)
