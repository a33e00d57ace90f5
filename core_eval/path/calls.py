"""One tool call of an agent, its status and its kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class CallStatus(StrEnum):
    """How a call ended."""

    OK = "ok"
    REJECTED = "rejected"
    """Refused by the device."""
    INVALID = "invalid"
    """Not a valid call."""
    BLOCKED = "blocked"
    """Refused by the guard."""
    FAULT = "fault"
    """Failed by the rig or the link."""


class StepKind(StrEnum):
    """What a call was worth in the state in which it was issued."""

    PROGRESS = "progress"
    LOOP = "loop"
    HARMFUL = "harmful"
    FAULT = "fault"


@dataclass(frozen=True)
class Call:
    """A logged tool call: tool name, arguments and status."""

    name: str
    arguments: Mapping[str, Any]
    status: CallStatus = CallStatus.OK
