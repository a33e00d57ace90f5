"""How a call ended: for scorer, host and rig process, so it imports nothing else of the kit."""

from __future__ import annotations

from enum import StrEnum

LINK_CODES = frozenset({"timeout", "link", "late", "no_answer", "crc", "offline", "two_devices"})
"""Codes of a `fault` step that mean a failed link; any other fault is the device's."""


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
