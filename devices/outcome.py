"""A device's answer to a call, and what is known of the machine after a stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from core_eval.call_status import LINK_CODES, CallStatus

PROTECTIVE_STOP = "protective_stop"
"""Code of a fault: the rig stopped itself in the middle of a call, because it met something."""


class FaultOwner(StrEnum):
    """Whose fault a call with status `fault` is."""

    AGENT = "agent"
    RIG = "rig"
    LINK = "link"
    HOST = "host"


_OWNERS = {
    **dict.fromkeys((*LINK_CODES, "protocol", "not_sent", "bad_answer", "bad_result"), FaultOwner.LINK),
    # No message came for the watchdog's time.
    "stopped": FaultOwner.LINK,
    "host_frozen": FaultOwner.HOST,
    PROTECTIVE_STOP: FaultOwner.AGENT,
}


def owner_of(code: str | None) -> FaultOwner:
    """Return whose fault one with this code is; the rig's where nothing else is known."""
    return _OWNERS.get(code or "", FaultOwner.RIG)


class Refusal(Exception):
    """A refusal of a call: an interlock or a precondition does not hold, and nothing was changed.

    Attributes:
        code: a short stable word, such as `safety_locked`.
        message: a sentence for a model: what to do instead.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class Outcome:
    """The device's answer to a call.

    Attributes:
        status: how the call ended.
        value: the tool's result if the status is `ok`.
        code, message: the reason if it is not.
        t: device time at the end of the call, s.
        duration: device time that the call took, s.
        guard: what the guard on the device's chip judged, if there is one.
    """

    status: CallStatus
    value: Mapping[str, Any] | None = None
    code: str | None = None
    message: str | None = None
    t: float = 0.0
    duration: float = 0.0
    guard: str | None = None

    @property
    def lost(self) -> bool:
        """Whether the link failed, so that nobody knows whether the call was executed."""
        return self.status == CallStatus.FAULT and self.code in LINK_CODES


class StopOutcome(StrEnum):
    """The knowledge of a machine after a stop. Only `CONFIRMED` means that it is safe, and is true."""

    CONFIRMED = "confirmed"
    """The device reported that it is stopped, or answered its driver's query of it."""
    SENT = "sent"
    """The stop was sent; whether it was obeyed is unknown."""
    NOT_SENT = "not sent"
    """The stop could not be sent."""

    def failed(self, can_confirm: bool) -> bool:
        """Return whether the machine may still move: not sent, or not confirmed by a rig that could."""
        return self is StopOutcome.NOT_SENT or (self is StopOutcome.SENT and can_confirm)

    def __bool__(self) -> bool:
        return self is StopOutcome.CONFIRMED
