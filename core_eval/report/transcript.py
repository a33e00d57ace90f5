"""The transcript of an episode: what the agent was offered, wrote and got back, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from core_eval.log.rows import Turn
from core_eval.path.json_text import json_text

SHORT = 140
"""Characters of a text that is shown without folding it."""
DIGEST = 12


@dataclass(frozen=True, slots=True)
class Folded:
    """A text, and whether it is so long that it is folded."""

    text: str
    long: bool


@dataclass(frozen=True, slots=True)
class ToolSet:
    """The function schemas that an agent was offered: an id in the page, and each tool's JSON."""

    id: str
    tools: tuple[tuple[str, str, str], ...]


def folded(text: str) -> Folded:
    """Return a text, folded where it is long or has many lines."""
    return Folded(text, len(text) > SHORT or text.count("\n") > 3)


def result_text(result: Any) -> Folded | None:
    """Return a tool's result as JSON; None where there is none."""
    return None if result is None else folded(json_text(result))


def cost_text(turn: Turn | None) -> str:
    """Return the tokens and seconds of a turn; empty for an agent that is no model."""
    if turn is None or not (turn.input_tokens or turn.cached_tokens or turn.output_tokens or turn.seconds):
        return ""
    cached = f" + {turn.cached_tokens} cached" if turn.cached_tokens else ""
    return f"{turn.input_tokens}{cached} tokens in, {turn.output_tokens} out, {turn.seconds:.2f} s"


def tool_set(tools: Any) -> ToolSet | None:
    """Return the schemas of a task's tools; None where the log has none."""
    if not isinstance(tools, Sequence) or isinstance(tools, str) or not tools:
        return None
    named = []
    for tool in tools:
        inside = tool.get("function", tool) if isinstance(tool, Mapping) else {}
        inside = inside if isinstance(inside, Mapping) else {}
        told = str(inside.get("description", ""))
        named.append((str(inside.get("name", "?")), told, json_text(tool, indent=2)))
    return ToolSet("tools-" + sha256(json_text(tools).encode()).hexdigest()[:DIGEST], tuple(named))
