"""One MQTT connection, as both ends of a rig use it: paho-mqtt on a thread of the connection.

The thread runs paho's loop, so all reads, writes and callbacks happen on it, and reconnects.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import math
import secrets
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from firmware_bridge.link import LinkError
from firmware_bridge.mqtt.address import MqttAddress, Topics, parse_mqtt_url

log = logging.getLogger(__name__)

KEEP_ALIVE = 10
"""Seconds; a broker publishes the last will of a silent client after one and a half of these."""
ANSWER_SECONDS = 5.0
"""Time for a broker's answers until it is connected anew."""
BACK_OFF = (0.1, 2.0)
"""Seconds before the first try to reconnect, doubled up to the longest."""
PERMISSION_SECONDS, GRACE_SECONDS = 2.0, 0.2
"""Time for a broker's answer whether it accepts a message, and for a refusal to follow its receipt."""


class MqttConnection:
    """A client that stays connected to its broker, and subscribes again whenever it comes back.

    Args:
        address: the broker.
        client_id: the MQTT client id.
        subscriptions: topic filter, QoS, and whether it is required.
        on_message: takes topic, payload and the retain flag.
        on_link: takes True once all subscriptions are acknowledged, and False when the connection is lost.
        will: topic and payload of the last will (QoS 1).
        will_retained: whether the broker retains the last will.
        on_refused: takes the topic of a message that the broker refuses; only brokers of MQTT 5 report it.

    Attributes:
        connected: whether the broker is connected and all subscriptions are acknowledged.
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
        will_retained: bool = True,
        on_refused: Callable[[str], None] | None = None,
    ) -> None:
        self.address = address
        self._five = address.version == 5
        self._on_refused = on_refused
        self._unacknowledged: dict[int, str] = {}
        self._acknowledgements: deque[tuple[int, bool]] = deque()
        self._client_id = client_id
        self._subscriptions = subscriptions
        self._on_message = on_message
        self._on_link = on_link
        self._will = will
        self._will_retained = will_retained
        self._where = f"the broker at {address.host}:{address.port}"
        self._lock = threading.RLock()
        self._backlog: list[tuple[str, bytes, int, bool]] = []
        self._changed = threading.Condition()
        self._refusal: str | None = None
        self._early_closes = 0
        self._closing = threading.Event()
        self.connected = self._renewing = False
        self._client = self._new_client()
        self._thread = threading.Thread(target=self._run, name=f"mqtt {address.name}", daemon=True)

    def open(self, timeout: float = 5.0) -> None:
        """Connect and subscribe.

        Raises:
            LinkError: no broker there, or it refuses us.
        """
        self._client.connect_timeout = timeout
        try:
            self._connect(self._client)
        except (OSError, ValueError) as error:
            self.close()
            reason = getattr(error, "strerror", None) or error
            text = f"cannot reach {self._where}: {reason}; is it running, and the address right?"
            raise LinkError(text) from None
        self._thread.start()
        with self._changed:
            self._changed.wait_for(lambda: self.connected or self._refusal is not None, timeout)
            up, refusal = self.connected, self._refusal
        if not up:
            self.close()
            silent = f"does not answer within {timeout:g} s; {self._hint()}"
            raise LinkError(f"{self._where} {refusal or silent}")

    def ensure(self, timeout: float) -> None:
        """Wait until the connection is up. Raises LinkError."""
        with self._changed:
            self._changed.wait_for(lambda: self.connected or self._closing.is_set(), timeout)
            if not self.connected:
                raise LinkError(f"no connection to {self._where}: it {self._refusal or 'is gone'}")

    def publish(
        self,
        topic: str,
        payload: bytes,
        *,
        qos: int = 1,
        retain: bool = False,
        expires: float | None = None,
        correlation: str | None = None,
    ) -> mqtt.MQTTMessageInfo | None:
        """Publish a message; while the broker is away (None), QoS 1 is queued and QoS 0 is dropped.

        `expires` (seconds that a broker may hold it) and `correlation` need MQTT 5; 3.1.1 ignores them.
        """
        with self._lock:
            if not self.connected:
                if qos:
                    self._backlog.append((topic, payload, qos, retain))
                return None
            properties = None
            if self._five and (expires is not None or correlation is not None):
                properties = publish_properties(expires, correlation)
            info = self._client.publish(topic, payload, qos, retain, properties)
            if self._five and qos:
                self._unacknowledged[info.mid] = topic
            return info

    def socket(self) -> socket.socket | None:
        """The live socket."""
        sock: Any = self._client.socket()
        return sock if isinstance(sock, socket.socket) else None

    def discard(self) -> None:
        """Discard messages that are queued or, if the connection is lost, not acknowledged."""
        with self._lock:
            self._backlog.clear()
            self._renewing = not self.connected

    def close(self, timeout: float = 2.0) -> None:
        """Disconnect, so that the broker does not publish the last will."""
        with self._changed:
            if self._closing.is_set():
                return
            self._closing.set()
            self._changed.notify_all()
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._client.disconnect()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout)
        self.connected = False

    def _run(self) -> None:
        while True:
            self._serve()
            if self._closing.is_set():
                return
            self._down()
            delay = BACK_OFF[0]
            while not self._closing.wait(delay) and not self._reconnect():
                delay = min(2 * delay, BACK_OFF[1])

    def _serve(self) -> None:
        """Run paho's loop until the connection is lost or closed, or the broker has not answered in time."""
        deadline = time.monotonic() + ANSWER_SECONDS
        try:
            while self._client.loop() == mqtt.MQTT_ERR_SUCCESS:
                if not self.connected and time.monotonic() > deadline:
                    # It is mute, or half a packet came: it has closed nothing.
                    self._early_closes = -1
                    return
                while self._acknowledgements:
                    self._acknowledged(*self._acknowledgements.popleft())
        except Exception:
            log.exception("%s sent what paho cannot read", self._where)

    def _hint(self) -> str:
        if self.address.tls and self.address.cert is None:
            return "does it ask for a client certificate (cert=FILE&key=FILE in the URL)?"
        return "does it speak MQTT there, and TLS or not as the URL says?"

    def _connect(self, client: mqtt.Client) -> None:
        if self._five:
            client.connect(self.address.host, self.address.port, KEEP_ALIVE, clean_start=True)
        else:
            client.connect(self.address.host, self.address.port, KEEP_ALIVE)

    def _reconnect(self) -> bool:
        with self._lock:
            renew, self._renewing = self._renewing, False
            client = self._new_client() if renew else self._client
            self._client = client
        try:
            if renew:
                self._connect(client)
            else:
                client.reconnect()
        except (OSError, ValueError):
            self._renewing |= renew
            return False
        return True

    def _down(self) -> None:
        with self._lock, self._changed:
            self._unacknowledged.clear()
            self._acknowledgements.clear()
            was_up, self.connected = self.connected, False
            self._early_closes = 0 if was_up else self._early_closes + 1
            # Once may be chance: a busy broker gives up a connection that another one replaces.
            if self._early_closes > 1 and self._refusal is None:
                self._refusal = f"closes the connection before it answers; {self._hint()}"
            self._changed.notify_all()
        if was_up:
            self._on_link(False)

    def _new_client(self) -> mqtt.Client:
        client = new_client(self.address, self._client_id, self._will, self._will_retained)
        client.on_connect = self._connected
        client.on_subscribe = self._subscribed
        client.on_message = self._deliver
        # With this hook set, paho leaves all writing to its loop: a signal cannot interrupt half a packet.
        client.on_socket_register_write = lambda *_: None
        if self._five:
            client.on_publish = self._published
        return client

    def _connected(
        self, client: mqtt.Client, _data: Any, _flags: mqtt.ConnectFlags, reason: ReasonCode, _properties: Any
    ) -> None:
        if reason.is_failure:
            self._note(f"refuses the connection: {reason}; check user and password")
        else:
            wanted = [(topic, qos) for topic, qos, _ in self._subscriptions]
            if self._five:
                client.subscribe([(topic, SubscribeOptions(qos=qos)) for topic, qos in wanted])
            else:
                client.subscribe(wanted)

    def _subscribed(
        self, client: mqtt.Client, _data: Any, _mid: int, reasons: list[ReasonCode], _properties: Any
    ) -> None:
        for (topic, _, needed), reason in zip(self._subscriptions, reasons, strict=False):
            if reason.is_failure and needed:
                self._note(f"refuses to subscribe us to {topic}; check its access list")
                return
        with self._lock, self._changed:
            backlog, self._backlog = self._backlog, []
            for topic, payload, qos, retain in backlog:
                client.publish(topic, payload, qos, retain)
            self._refusal = None
            self.connected = True
            self._changed.notify_all()
        self._on_link(True)

    def _published(
        self, _client: mqtt.Client, _data: Any, mid: int, reason: ReasonCode, _properties: Any
    ) -> None:
        # paho holds a lock here that `publish` takes inside ours.
        self._acknowledgements.append((mid, reason.is_failure))

    def _acknowledged(self, mid: int, refused: bool) -> None:
        with self._lock:
            topic = self._unacknowledged.pop(mid, None)
        if refused and topic is not None and self._on_refused is not None:
            self._on_refused(topic)

    def _deliver(self, _client: mqtt.Client, _data: Any, message: mqtt.MQTTMessage) -> None:
        try:
            self._on_message(message.topic, bytes(message.payload), message.retain)
        except Exception:
            # It would end the network thread and leave the rig without a link.
            log.exception("a callback of the MQTT connection failed")

    def _note(self, refusal: str) -> None:
        with self._changed:
            self._refusal = refusal
            self._changed.notify_all()


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


def may_publish(url: str, channel: str, payload: bytes) -> bool | None:
    """Publish a payload on a channel of the URL's rig in MQTT 5, and return whether the broker accepts it.

    None: the broker has no MQTT 5, in whose 3.1.1 it reports no refusal, or did not answer.
    """
    address = dataclasses.replace(parse_mqtt_url(url), version=5)
    topics = Topics(address.rig)
    refused = threading.Event()
    connection = MqttConnection(
        address,
        f"pathrig-check-{secrets.token_hex(6)}",
        subscriptions=[(topics.of("status"), 0, False)],
        on_message=lambda *_: None,
        on_link=lambda _: None,
        on_refused=lambda _: refused.set(),
    )
    try:
        connection.open(PERMISSION_SECONDS)
    except LinkError:
        return None
    try:
        info = connection.publish(topics.of(channel), payload)
        if info is None:
            return None
        info.wait_for_publish(PERMISSION_SECONDS)
        if not info.is_published():
            return None
        return not refused.wait(GRACE_SECONDS)
    except (RuntimeError, ValueError):
        return None
    finally:
        connection.close()
