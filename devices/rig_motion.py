"""What is known of whether a rig moves: one small state machine, on the host and in the rig process."""

from __future__ import annotations

import threading
from enum import StrEnum

from devices.outcome import StopOutcome


class Motion(StrEnum):
    """Whether a rig moves, as far as is known. Only `STANDING` means that it does not."""

    UNKNOWN = "unknown"
    """Nothing was asked of it, or it is back after a loss or a reset."""
    MOVING = "moving"
    """It takes commands, so it may move."""
    STOPPING = "stopping"
    """A stop has begun, and is not confirmed."""
    STANDING = "standing"
    """A stop was confirmed, and no command has followed."""
    LOST = "lost"
    """Nothing reaches it, or it is mute."""


class Event(StrEnum):
    """What changes that knowledge."""

    DRIVE = "drive"
    """A command goes out."""
    HALT = "halt"
    """A stop begins; no command follows it before a reset."""
    SENT = "sent"
    """The stop went out."""
    UNSENT = "unsent"
    """The far end says that it could not pass the stop on."""
    CONFIRMED = "confirmed"
    """The rig says that it stands, after the stop."""
    RESET = "reset"
    """The stop is left."""
    LOSE = "lose"
    """The wire is lost, or the rig mute."""
    FIND = "find"
    """It is back."""


_U, _M, _P, _S, _L = Motion
_ORDER = (_U, _M, _P, _S, _L)
TRANSITIONS = {
    # from           unknown, moving, stopping, standing, lost
    Event.DRIVE:     (_M, _M, _M, _M, _L),
    Event.HALT:      (_P, _P, _P, _P, _L),
    Event.SENT:      (_P, _P, _P, _S, _L),
    Event.UNSENT:    (_P, _P, _P, _P, _L),
    Event.CONFIRMED: (_U, _M, _S, _S, _L),
    Event.RESET:     (_U, _M, _U, _U, _L),
    Event.LOSE:      (_L, _L, _L, _L, _L),
    Event.FIND:      (_U, _M, _P, _S, _U),
}  # fmt: skip
"""The state after each event, by the state before it. A halted rig has no `DRIVE`, an unsent stop no word."""
_HALTED = {Event.HALT: True, Event.RESET: False}
_SENT = {Event.SENT: True} | dict.fromkeys((Event.DRIVE, Event.HALT, Event.UNSENT, Event.RESET), False)


class RigMotion:
    """The state of one rig, and what is known of its last stop. Methods may be called from any thread.

    Attributes:
        state: whether it moves.
        halted: whether a stop has begun that was not left by a reset.
        driven: whether a command ever went out.
        sent: whether the last stop went out, and no command followed it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.state = Motion.UNKNOWN
        self.halted = self.driven = self.sent = False

    def on(self, event: Event) -> bool:
        """Take an event, and return whether the state changed."""
        with self._lock:
            before = self.state
            self.driven |= event is Event.DRIVE
            if (event is Event.DRIVE and self.halted) or (event is Event.CONFIRMED and not self.sent):
                return False
            self.state = TRANSITIONS[event][_ORDER.index(before)]
            self.halted = _HALTED.get(event, self.halted)
            self.sent = _SENT.get(event, self.sent)
            return self.state is not before

    def stopped(self, outcome: StopOutcome | None) -> None:
        """Take what is known of a stop that went out; None: the rig's status will tell."""
        self.on(Event.UNSENT if outcome is StopOutcome.NOT_SENT else Event.SENT)
        if outcome is StopOutcome.CONFIRMED:
            self.on(Event.CONFIRMED)

    @property
    def outcome(self) -> StopOutcome:
        """What is known of the last stop."""
        if self.state is Motion.STANDING:
            return StopOutcome.CONFIRMED
        return StopOutcome.SENT if self.sent else StopOutcome.NOT_SENT
