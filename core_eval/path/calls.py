"""One tool call of an agent, and the vocabulary of what becomes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Status = Literal["ok", "rejected", "invalid", "blocked", "fault"]
"""How a call ended: done, refused by the device, not a valid call, refused by the guard, or a rig fault."""

Kind = Literal["progress", "loop", "harmful", "fault"]
"""What a call was worth in the state it was issued in."""

STATUSES: tuple[Status, ...] = ("ok", "rejected", "invalid", "blocked", "fault")


@dataclass(frozen=True)
class Call:
    """A tool call as it was logged: tool name, arguments, and how it ended."""

    name: str
    arguments: Mapping[str, Any]
    status: Status = "ok"
