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
        *("show", "status", "view"),
    )
)
"""First words of the names of tools that only read. Any other tool may write."""
THOUGHT_WORDS = frozenset(("reason", "reasoning", "reflect", "scratchpad", "think", "thinking", "thought"))
"""Words anywhere in the names of tools that note what the agent thinks, and have no other effect."""


class ToolEffect(NamedTuple):
    """What a tool does, and what says so.

    Attributes:
        effect: `read` or `write`.
        told_by: `user`; `annotation`, of its description; or `name NAME`, by a word of it.
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
    for known in sorted({*names, *told, *said}):
        effect = told.get(known)
        if known in said:
            found[known] = ToolEffect(said[known], "user")
        elif effect is not None:
            found[known] = ToolEffect("read" if effect == "read" else "write", "annotation")
        else:
            words = _tool_words(known)
            word = next((one for one in words if one in THOUGHT_WORDS), words[0])
            is_read = word in READ_WORDS or word in THOUGHT_WORDS
            found[known] = ToolEffect("read" if is_read else "write", f"name {word}")
    return found


def _tool_words(name: str) -> list[str]:
    """Return the words of a tool's own name: `get` and `order` of `store.getOrder`."""
    own = re.split(r"[./:]", name)[-1]
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", own)] or [own.lower()]
