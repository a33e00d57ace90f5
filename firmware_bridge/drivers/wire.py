"""The interface of a raw serial line or of raw MQTT topics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from devices.drivers.patterns import MachineMessage

OnMessage = Callable[[MachineMessage], None]


class Wire(Protocol):
    """A raw serial line, or a broker. Messages and losses are reported on a reader thread."""

    name: str
    """The URL without password, for messages."""

    comes_back: bool
    """Whether a lost wire can be opened again."""

    @property
    def connected(self) -> bool:
        """Whether bytes can go out now."""

    def open(self, on_message: OnMessage, on_lost: Callable[[], None]) -> None:
        """Connect, for the first time or again. Raises LinkError."""

    def write(self, data: bytes) -> None:
        """Serial: write bytes. Raises LinkError."""

    def write_at_once(self, data: bytes) -> None:
        """Serial: write bytes ahead of the port's output buffer. Raises LinkError."""

    def publish(self, topic: str, payload: str, *, retain: bool = False) -> None:
        """MQTT: publish with QoS 1. Raises LinkError."""

    def taken(self) -> bool:
        """Whether the other end of the line acknowledges what was published last; True if it never does."""

    def close(self) -> None:
        """Close the wire; it sends no stop. Never raises."""
