"""The outcome of an emergency stop, with the same three words from the device to the log and the terminal."""

from __future__ import annotations

from enum import StrEnum


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
