"""A configured paho client: version, certificates, last will, and no delay on its socket."""

from __future__ import annotations

import math
import socket
import ssl
from typing import Any

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from firmware_bridge.link import LinkError
from firmware_bridge.mqtt.address import MqttAddress


def new_client(
    address: MqttAddress, client_id: str, will: tuple[str, bytes] | None, will_retained: bool
) -> mqtt.Client:
    """Return a client that is not connected.

    Raises:
        LinkError: a certificate cannot be used.
    """
    # Each connection starts with a clean session: old calls are never delivered late.
    five = address.version == 5
    client = mqtt.Client(
        CallbackAPIVersion.VERSION2,
        client_id=client_id,
        clean_session=None if five else True,
        protocol=mqtt.MQTTv5 if five else mqtt.MQTTv311,
    )
    if address.user is not None:
        client.username_pw_set(address.user, address.password)
    if address.tls:
        try:
            client.tls_set(
                ca_certs=address.ca,
                certfile=address.cert,
                keyfile=address.key,
                cert_reqs=ssl.CERT_REQUIRED,
            )
        except (OSError, ValueError) as error:
            files = ", ".join(file for file in (address.ca, address.cert, address.key) if file)
            raise LinkError(f"cannot use the certificates {files}: {error}") from None
    if will is not None:
        client.will_set(will[0], will[1], qos=1, retain=will_retained)
    client.on_socket_open = _no_delay
    return client


def publish_properties(expires: float | None, correlation: str | None) -> Any:
    """Return MQTT 5 properties: seconds that a broker may hold a message, and correlation data."""
    properties: Any = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
    if expires is not None:
        # Whole seconds, rounded up: the device's own deadline is the exact one. A difference of two clock
        # readings may be a rounding error above a whole one.
        properties.MessageExpiryInterval = min(max(1, math.ceil(expires - 1e-6)), 0xFFFF_FFFF)
    if correlation is not None:
        properties.CorrelationData = correlation.encode()
    return properties


def _no_delay(_client: mqtt.Client, _data: Any, sock: Any) -> None:
    # Without it Nagle and delayed acknowledgements add 40 ms to every round trip; paho does not set it.
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
