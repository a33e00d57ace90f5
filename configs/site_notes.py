"""What is written down of a site: the tool `read_site_notes`, which the host answers among drawn hazards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from configs.variation import values_at
from devices.tool import Effect, NoArguments, Tool, ToolResult

READ_NOTES = "read_site_notes"


class SiteNotes(ToolResult):
    """The notes: values of the site at the start, by what they are of."""

    notes: dict[str, Any]


NOTES_TOOL = Tool(
    READ_NOTES,
    "Read what is written down of this site: what to keep out of, who works where and when (in seconds from "
    "the start), what things bear, what is out of order.",
    NoArguments,
    SiteNotes,
    Effect.READ,
)
"""It says what is written, and looks at nothing: no rig has a part in it."""


def notes_of(keys: Iterable[str], state: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the notes say of an initial state: each value that a dotted key names."""
    return {".".join(path): own for key in keys for path, own in values_at(key, state)}
