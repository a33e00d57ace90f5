"""Mistral, tokenizers of version 11 and later: `[TOOL_CALLS]NAME[ARGS]{...}`, perhaps with a `[CALL_ID]`."""

from __future__ import annotations

from agents.formats.named_form import NamedForm, named_format

FORMAT = named_format(
    "mistral-args",
    NamedForm(
        opening=r"\[TOOL_CALLS\]\s*(?P<name>[^\[\]{}\s]+)\s*(?:\[CALL_ID\][^\[\]{}]*)?(?:\[ARGS\])?\s*",
        closing=r"\s*",
        before="[TOOL_CALLS]",
        between="[ARGS]",
        after="",
    ),
    families="Mistral Small 3.1 and later, Ministral 3, Magistral, Devstral",
    documented="[mistral-common: tool calls](https://mistralai.github.io/mistral-common/)",
    detected_by=("[ARGS]",),
    marks=("[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"),
)
