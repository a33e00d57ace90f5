"""Listens to all that a rig and its hosts say over MQTT; publishes nothing."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from firmware_bridge.codec import CodecError, decode_device_message, decode_host_message, decode_lease
from firmware_bridge.link import LinkError
from firmware_bridge.messages import DeviceMessage, Estop, HostMessage, Lease
from firmware_bridge.mqtt.address import Topics, parse_mqtt_url
from firmware_bridge.mqtt.connection import MqttConnection

CHANNELS = ("call", "estop", "result", "status", "lease")


@dataclass(frozen=True, slots=True)
class Heard:
    """Receivers of what is heard, called on the connection's thread.

    Attributes:
        host: a message to the rig.
        device: a message of the rig; the flag says that the broker retained it.
        lease: the lease of the host that drives the rig; None: none does.
        link: whether the broker is connected.
    """

    host: Callable[[HostMessage], None]
    device: Callable[[DeviceMessage, bool], None]
    lease: Callable[[Lease | None], None]
    link: Callable[[bool], None]


class MqttObserver:
    """An observer of one rig. It neither greets nor pings it, so it feeds no watchdog.

    The ground truth is not heard. An account that may not read the calls does not hear them.

    Raises:
        LinkError: the URL names no rig, no broker is there, or it refuses us.
    """

    def __init__(self, url: str, heard: Heard, timeout: float = 5.0) -> None:
        address = parse_mqtt_url(url)
        if not address.rig:
            raise LinkError(f"{address.name} names no rig; write mqtt://host[:port]/RIG")
        self._heard = heard
        topics = Topics(address.rig)
        self._channels = {topics.of(channel): channel for channel in CHANNELS}
        self._connection = MqttConnection(
            address,
            f"pathrig-observer-{secrets.token_hex(6)}",
            subscriptions=[
                *((topic, 1, channel in ("result", "status")) for topic, channel in self._channels.items()),
                (topics.of("sample/#"), 0, False),
            ],
            on_message=self._message,
            on_link=heard.link,
        )
        self._connection.open(timeout)

    def close(self) -> None:
        """Disconnect. Never raises."""
        self._connection.close()

    def _message(self, topic: str, payload: bytes, retained: bool) -> None:
        channel = self._channels.get(topic, "sample")
        # What cannot be read is for the rig and its host to count.
        with contextlib.suppress(CodecError):
            if channel == "lease":
                self._heard.lease(decode_lease(payload) if payload else None)
            elif channel == "estop":
                self._heard.host(Estop())
            elif channel == "call":
                call = decode_host_message(payload)
                # A device never runs a retained call.
                if call is not None and not retained:
                    self._heard.host(call)
            else:
                said = decode_device_message(payload)
                if said is not None:
                    self._heard.device(said, retained)
