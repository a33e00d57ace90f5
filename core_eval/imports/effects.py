"""Which tools only read, and what says so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from core_eval.imports.record import ToolSpec

READ_WORDS = frozenset(
    (
        *("calculate", "check", "compare", "compute", "count", "describe", "fetch", "find", "get", "inspect"),
        *("list", "look", "lookup", "measure", "query", "read", "retrieve", "scan", "search", "see", "sense"),
        *("show", "status", "think", "view"),
    )
)
"""First words of the names of tools that only read. Any other tool may write."""


class ToolEffect(NamedTuple):
    """What a tool does, and what says so.

    Attributes:
        effect: `read` or `write`.
        told_by: `user`; `annotation`, of its description; or `name NAME`, by its first word.
    """

    effect: str
    told_by: str


def tool_effects(
    names: Iterable[str], tools: Iterable[ToolSpec], *, writes: Iterable[str], reads: Iterable[str]
) -> dict[str, ToolEffect]:
    """Return the effects of tools, by name.

    Args:
        names: tools that are known by name alone.
        tools: as a file describes them.
        writes, reads: what the user says; it goes before all else.
    """
    told: Mapping[str, str | None] = {tool.name: tool.effect for tool in tools}
    said = {**dict.fromkeys(reads, "read"), **dict.fromkeys(writes, "write")}
    found = {}
    for name in sorted({*names, *told, *said}):
        effect = told.get(name)
        if name in said:
            found[name] = ToolEffect(said[name], "user")
        elif effect is not None:
            found[name] = ToolEffect("read" if effect == "read" else "write", "annotation")
        else:
            word = first_word(name)
            found[name] = ToolEffect("read" if word in READ_WORDS else "write", f"name {word}")
    return found


def first_word(name: str) -> str:
    """Return the first word of a tool's own name: `get` of `store.getOrder`."""
    own = re.split(r"[./:]", name)[-1]
    words = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", own)
    return words[0].lower() if words else own.lower()
