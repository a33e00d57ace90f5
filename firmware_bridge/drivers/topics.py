"""Raw MQTT topics, with the stop as last will."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Sequence

from paho.mqtt.client import MQTTMessageInfo

from devices.drivers.patterns import MachineMessage
from firmware_bridge.drivers.wire import OnMessage
from firmware_bridge.link import LinkError
from firmware_bridge.mqtt.address import MqttAddress
from firmware_bridge.mqtt.connection import MqttConnection

ACKNOWLEDGE_SECONDS = 2.0
Publication = tuple[str, str]
"""Topic and payload."""


class DriverTopics:
    """A connection to a broker with subscriptions.

    A client has one last will, so each further message of the stop has another connection.

    Args:
        address: the broker; `rig` is the device's part of the topics.
        subscriptions: the topics.
        wills: messages that the broker publishes when this program dies.
    """

    def __init__(
        self, address: MqttAddress, subscriptions: Sequence[str], wills: Sequence[Publication]
    ) -> None:
        self.name = address.name
        self._address = address
        self._subscriptions = sorted(set(subscriptions))
        self._wills = list(wills)
        self._connections: list[MqttConnection] = []
        self._last: MQTTMessageInfo | None = None

    @property
    def connected(self) -> bool:
        """Whether the broker is connected."""
        return bool(self._connections) and self._connections[0].connected

    def open(self, on_message: OnMessage, on_lost: Callable[[], None]) -> None:
        """Connect, or wait for the reconnection. Raises LinkError."""
        if self._connections:
            self._connections[0].ensure(0.5)
            return

        def take(topic: str, payload: bytes, retained: bool) -> None:
            on_message(MachineMessage(topic, payload.decode("utf-8", errors="replace"), retained))

        def link(up: bool) -> None:
            if not up:
                on_lost()

        wanted = [(topic, 1, True) for topic in self._subscriptions]
        wills: list[Publication | None] = list(self._wills) or [None]
        for index, will in enumerate(wills):
            connection = MqttConnection(
                self._address,
                f"pathrig-driver-{secrets.token_hex(6)}",
                subscriptions=wanted if index == 0 else wanted[:1],
                on_message=take if index == 0 else lambda *_: None,
                on_link=link if index == 0 else lambda _: None,
                will=None if will is None else (will[0], will[1].encode()),
                will_retained=False,
            )
            try:
                connection.open()
            except LinkError:
                self.close()
                raise
            self._connections.append(connection)

    def write(self, data: bytes) -> None:
        """Raise LinkError: a broker takes no raw bytes."""
        raise LinkError(f"{self.name} is a broker, and takes no raw bytes")

    write_at_once = write

    def publish(self, topic: str, payload: str, *, retain: bool = False) -> None:
        """Publish with QoS 1. Raises LinkError without a broker; then the message is discarded."""
        if not self.connected:
            raise LinkError(f"no connection to {self.name}")
        self._last = self._connections[0].publish(topic, payload.encode(), qos=1, retain=retain)
        if self._last is None:
            self._connections[0].discard()
            raise LinkError(f"no connection to {self.name}")

    def taken(self) -> bool:
        """Whether the broker acknowledges the last message in time."""
        if self._last is not None:
            with contextlib.suppress(RuntimeError, ValueError):
                self._last.wait_for_publish(ACKNOWLEDGE_SECONDS)
        return self._last is None or self._last.is_published()

    comes_back = True

    def close(self) -> None:
        """Disconnect; an unreachable broker that still runs publishes the wills."""
        connections, self._connections = self._connections, []
        for connection in connections:
            connection.close()
