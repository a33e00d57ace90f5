"""How an emergency stop went: the same three words from the device to the log and the terminal."""

from __future__ import annotations

from enum import StrEnum


class StopOutcome(StrEnum):
    """What is known of a machine after a stop. Only `CONFIRMED` means that it is safe, and is true."""

    CONFIRMED = "confirmed"
    """The device said that it is stopped, or answered its driver's question whether it is."""
    SENT = "sent"
    """The stop went out; whether it was obeyed is not known."""
    NOT_SENT = "not sent"
    """The stop could not go out."""

    def __bool__(self) -> bool:
        return self is StopOutcome.CONFIRMED
