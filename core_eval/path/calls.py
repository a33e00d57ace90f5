"""One tool call of an agent, its status and its kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Status = Literal["ok", "rejected", "invalid", "blocked", "fault"]
"""How a call ended: executed, rejected by the device, invalid, blocked by the guard, or a rig fault."""

Kind = Literal["progress", "loop", "harmful", "fault"]
"""The automaton's verdict on a call in the state in which it was issued."""

STATUSES: tuple[Status, ...] = ("ok", "rejected", "invalid", "blocked", "fault")


@dataclass(frozen=True)
class Call:
    """A logged tool call: tool name, arguments and status."""

    name: str
    arguments: Mapping[str, Any]
    status: Status = "ok"
