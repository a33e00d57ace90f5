"""The interface of a raw serial line or of raw MQTT topics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from devices.drivers.patterns import Message
from firmware_bridge.link import Keeper

OnMessage = Callable[[Message], None]


class Wire(Protocol):
    """A raw serial line, or a broker. Messages and losses are reported on a reader thread."""

    name: str
    """The URL without password, for messages."""

    @property
    def keeper(self) -> Keeper | None:
        """The stop keeper, where the wire has one."""

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

    def close(self, stop_owed: bool = False) -> None:
        """Close the wire; it sends no stop. Never raises.

        If the wire is lost and a stop is pending, the stop keeper may send it when the wire returns.
        """
