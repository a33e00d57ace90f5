"""One paho-mqtt connection, as both ends of a rig use it."""

from __future__ import annotations

import logging
import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from typing import Any

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.reasoncodes import ReasonCode

from firmware_bridge.link import LinkError
from firmware_bridge.mqtt_address import MqttAddress

log = logging.getLogger(__name__)

KEEP_ALIVE = 10
"""Seconds; a broker publishes the last will of a silent client after one and a half of these."""


class MqttConnection:
    """A client that stays connected to its broker, and re-subscribes whenever it comes back.

    Args:
        address: the broker.
        client_id: the MQTT client id.
        subscriptions: topic filter, QoS, and whether nothing works without it.
        on_message: takes topic, payload and the retain flag, on the network thread.
        on_link: takes True once all subscriptions stand, and False when the connection is lost.
        will: topic and payload of the last will (retained, QoS 1).
    """

    def __init__(
        self,
        address: MqttAddress,
        client_id: str,
        *,
        subscriptions: Sequence[tuple[str, int, bool]],
        on_message: Callable[[str, bytes, bool], None],
        on_link: Callable[[bool], None],
        will: tuple[str, bytes] | None = None,
    ) -> None:
        self.address = address
        self._client_id = client_id
        self._subscriptions = subscriptions
        self._on_message = on_message
        self._on_link = on_link
        self._will = will
        self._changed = threading.Condition()
        self._up = False
        self._closed = False
        self._refusal: str | None = None
        self._client = self._new_client()

    @property
    def connected(self) -> bool:
        """Whether the broker is there and all subscriptions stand."""
        return self._up

    def open(self, timeout: float = 5.0) -> None:
        """Connect and subscribe.

        Raises:
            LinkError: no broker there, or it refuses us.
        """
        where = f"the broker at {self.address.host}:{self.address.port}"
        self._client.connect_timeout = timeout
        try:
            self._client.connect(self.address.host, self.address.port, KEEP_ALIVE)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise LinkError(
                f"cannot reach {where}: {reason}; is it running, and the address right?"
            ) from None
        self._client.loop_start()
        with self._changed:
            self._changed.wait_for(lambda: self._up or self._refusal is not None, timeout)
            refusal = self._refusal
            up = self._up
        if not up:
            self.close()
            raise LinkError(
                f"{where} {refusal or f'does not answer within {timeout:g} s; does it speak MQTT?'}"
            )

    def ensure(self, timeout: float) -> None:
        """Wait until the connection is up. Raises LinkError."""
        with self._changed:
            self._changed.wait_for(lambda: self._up or self._closed, timeout)
            if not self._up:
                where = f"the broker at {self.address.host}:{self.address.port}"
                raise LinkError(f"no connection to {where}: {self._refusal or 'it is gone'}")

    def publish(
        self, topic: str, payload: bytes, *, qos: int = 1, retain: bool = False
    ) -> mqtt.MQTTMessageInfo:
        """Hand a message to the network thread; with QoS 1 it is sent again after a lost connection."""
        return self._client.publish(topic, payload, qos, retain)

    def socket(self) -> socket.socket | None:
        """The live socket."""
        sock: Any = self._client.socket()
        return sock if isinstance(sock, socket.socket) else None

    def renew(self) -> None:
        """Go on with a fresh client, so that nothing that the old one still held is sent later."""
        if self._closed:
            return
        self._stop()
        self._client = self._new_client()
        self._client.connect_async(self.address.host, self.address.port, KEEP_ALIVE)
        self._client.loop_start()

    def close(self) -> None:
        """Disconnect in good order: the broker keeps the last will to itself."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._stop()

    def _stop(self) -> None:
        self._client.on_disconnect = None
        self._client.disconnect()
        self._client.loop_stop()
        self._up = False

    def _new_client(self) -> mqtt.Client:
        client = mqtt.Client(CallbackAPIVersion.VERSION2, client_id=self._client_id, clean_session=True)
        client.reconnect_delay_set(0.1, 2)  # type: ignore[arg-type]
        if self.address.user is not None:
            client.username_pw_set(self.address.user, self.address.password)
        if self.address.tls:
            try:
                client.tls_set(ca_certs=self.address.ca, cert_reqs=ssl.CERT_REQUIRED)
            except (OSError, ValueError) as error:
                raise LinkError(f"cannot use the certificates of {self.address.ca}: {error}") from None
        if self._will is not None:
            client.will_set(self._will[0], self._will[1], qos=1, retain=True)
        client.on_socket_open = _no_delay
        client.on_connect = self._connected
        client.on_subscribe = self._subscribed
        client.on_disconnect = self._disconnected
        client.on_message = self._message
        return client

    def _connected(
        self, client: mqtt.Client, _data: Any, _flags: mqtt.ConnectFlags, reason: ReasonCode, _properties: Any
    ) -> None:
        if reason.is_failure:
            self._note(f"refuses the connection: {reason}; check user and password")
        else:
            client.subscribe([(topic, qos) for topic, qos, _ in self._subscriptions])

    def _subscribed(
        self, client: mqtt.Client, _data: Any, _mid: int, reasons: list[ReasonCode], _properties: Any
    ) -> None:
        for (topic, _, needed), reason in zip(self._subscriptions, reasons, strict=False):
            if reason.is_failure and needed:
                self._note(f"refuses to subscribe us to {topic}; check its access list")
                return
        with self._changed:
            self._refusal = None
            self._up = True
            self._changed.notify_all()
        self._guarded(self._on_link, True)

    def _disconnected(
        self, client: mqtt.Client, _data: Any, _flags: Any, _reason: ReasonCode, _properties: Any
    ) -> None:
        with self._changed:
            was_up, self._up = self._up, False
            self._changed.notify_all()
        if was_up:
            self._guarded(self._on_link, False)

    def _message(self, _client: mqtt.Client, _data: Any, message: mqtt.MQTTMessage) -> None:
        self._guarded(self._on_message, message.topic, message.payload, message.retain)

    def _note(self, refusal: str) -> None:
        with self._changed:
            self._refusal = refusal
            self._changed.notify_all()

    @staticmethod
    def _guarded(callback: Callable[..., None], *args: Any) -> None:
        try:
            callback(*args)
        except Exception:
            # An exception here would end paho's network thread and leave the rig without a link.
            log.exception("a callback of the MQTT connection failed")


def _no_delay(_client: mqtt.Client, _data: Any, sock: Any) -> None:
    # Without it Nagle and delayed acknowledgements add 40 ms to every round trip; paho does not set it.
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
