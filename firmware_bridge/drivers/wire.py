"""What the engine needs of a raw line or of raw topics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from devices.drivers.patterns import Message

OnMessage = Callable[[Message], None]


class Wire(Protocol):
    """A raw serial line, or a broker. Messages come on a reader thread, and so does the loss of the wire."""

    name: str
    """The URL without password, for messages."""

    @property
    def connected(self) -> bool:
        """Whether bytes can go out now."""

    def open(self, on_message: OnMessage, on_lost: Callable[[], None]) -> None:
        """Connect, for the first time or again. Raises LinkError."""

    def write(self, data: bytes) -> None:
        """Serial: write these bytes. Raises LinkError."""

    def write_at_once(self, data: bytes) -> None:
        """Serial: write these bytes ahead of what the port's buffer still holds. Raises LinkError."""

    def publish(self, topic: str, payload: str, *, retain: bool = False) -> None:
        """MQTT: publish with QoS 1. Raises LinkError."""

    def close(self, stop_owed: bool = False) -> None:
        """Close it; the stop is the caller's business. Never raises.

        Where the wire is gone and a stop is owed, a second process may still send it when the wire is back.
        """

    @property
    def strikes(self) -> int:
        """How often a second process stopped the machine because this one stood still."""

    @property
    def late_stop_seconds(self) -> float:
        """After `close`: how long a second process waits for the wire, to send a stop that is owed."""
