"""A rig over MQTT: the host's link and the device's port."""

from __future__ import annotations

import contextlib
import dataclasses
import secrets
import socket
import threading
from collections.abc import Callable

from paho.mqtt.client import MQTTMessageInfo

from devices.outcome import StopOutcome
from firmware_bridge import messages as wire
from firmware_bridge.codec import CodecError, decode_device_message, encode
from firmware_bridge.lines import RESETS
from firmware_bridge.link import Link, LinkError, OnFrame, Port, PortHandler, Tell, tell_terminal
from firmware_bridge.mqtt.address import Topics, check_rig_name, parse_mqtt_url
from firmware_bridge.mqtt.connection import MqttConnection, may_publish
from firmware_bridge.mqtt.lease import Lease
from firmware_bridge.name_monitor import NameMonitor

_ESTOP = encode(wire.Estop())
_PING = encode(wire.Ping())


class MqttLink(Link):
    """The host's end. Connects in the constructor.

    The last will removes our lease, so that a killed host does not hold its rig.

    Raises:
        LinkError: the URL names no rig, no broker is there, or it refuses us.
    """

    brokered = True

    def __init__(self, url: str, timeout: float = 5.0) -> None:
        address = parse_mqtt_url(url)
        if not address.rig:
            raise LinkError(f"{address.name} names no rig; write mqtt://host[:port]/RIG")
        self.name = address.name
        self._url, self._version = url, address.version
        self._topics = Topics(address.rig)
        self._lock = threading.Lock()
        self._early: list[tuple[bytes, bool]] = []
        self._on_frame: OnFrame | None = None
        self._on_state: Callable[[bool], None] | None = None
        self._last_estop: MQTTMessageInfo | None = None
        self._stop_waits = False
        self._refused: str | None = None
        self._call_topic = self._topics.of("call")
        self._lease_topic = lease_topic = self._topics.of("lease")
        self.lease = Lease(
            self.name, lambda payload: self._connection.publish(lease_topic, payload, retain=True)
        )
        self._connection = MqttConnection(
            address,
            f"pathrig-host-{secrets.token_hex(6)}",
            subscriptions=[
                (self._topics.of("result"), 1, True),
                (self._topics.of("status"), 1, True),
                (self._topics.of("sample/#"), 0, False),
                (self._topics.of("truth"), 1, False),
                (lease_topic, 1, False),
            ],
            on_message=self._message,
            on_link=self._link_changed,
            will=(lease_topic, b""),
            on_refused=self._publish_refused,
        )
        self._connection.open(timeout)

    @property
    def connected(self) -> bool:
        """Whether the broker is connected, and has not just refused a message."""
        return self._connection.connected and self._refused is None

    def attach(self, on_frame: OnFrame, on_state: Callable[[bool], None]) -> None:
        """Deliver the messages received so far, and all later ones."""
        with self._lock:
            for payload, retained in self._early:
                on_frame(payload, retained)
            self._early.clear()
            self._on_frame, self._on_state = on_frame, on_state

    def ensure(self, timeout: float) -> None:
        """Wait for the broker. Raises LinkError; once, if it refused a message."""
        refused, self._refused = self._refused, None
        if refused is not None:
            raise LinkError(refused)
        self._connection.ensure(timeout)

    def send(self, payload: bytes) -> None:
        """Publish on the call topic with QoS 1. Raises LinkError without a broker or the lease."""
        self.send_call(payload, None, None)

    def send_call(self, payload: bytes, call_id: str | None, seconds: float | None) -> None:
        """As `send`; on MQTT 5 with message expiry, and the call's id as correlation data."""
        if not self._connection.connected:
            raise LinkError(f"no connection to the broker of {self.name}")
        if self.lease.lost is not None:
            raise LinkError(self.lease.lost)
        if payload in RESETS:
            self._stop_waits = False
        self._connection.publish(self._call_topic, payload, expires=seconds, correlation=call_id)

    def check_permission(self) -> None:
        """Raise LinkError if the broker refuses in MQTT 5 what it drops silently in 3.1.1."""
        if self._version != 5 and may_publish(self._url, "call", _PING) is False:
            raise LinkError(self._forbidden(self._call_topic))

    def claim(self, timeout: float, tell: Tell) -> bool:
        """Acquire the lease; return whether the broker keeps it. Raises LinkError if another host has it."""
        self.lease.claim(timeout, tell)
        return self.lease.confirmed

    def renew(self) -> None:
        """Renew the lease."""
        if self._connection.connected:
            self.lease.renew()

    def estop(self) -> StopOutcome | None:
        """Publish the stop on its topic; again for a rig that is online after it. Raises LinkError."""
        # Until the rig says that it is stopped: what was written may have gone to a dead connection.
        self._stop_waits = True
        self._last_estop = self._connection.publish(self._topics.of("estop"), _ESTOP)
        if self._last_estop is None:
            raise LinkError(f"no connection to the broker of {self.name}")
        return None

    def discard(self) -> None:
        """Discard calls that were not sent."""
        self._connection.discard()
        if self._stop_waits:
            self._connection.publish(self._topics.of("estop"), _ESTOP)

    def close(self) -> None:
        """Wait until a stop is sent, and disconnect."""
        if self._last_estop is not None and self._connection.connected:
            with contextlib.suppress(RuntimeError, ValueError):
                self._last_estop.wait_for_publish(1.0)
        if self._connection.connected:
            self.lease.release()
        self._connection.close()

    def socket(self) -> socket.socket | None:
        """The live socket."""
        return self._connection.socket()

    def _stop_again(self, status: bytes) -> None:
        # The rig may have reconnected to the broker after our stop was published.
        with contextlib.suppress(CodecError):
            message = decode_device_message(status)
            if isinstance(message, wire.Status) and message.state == "online":
                self._connection.publish(self._topics.of("estop"), _ESTOP)
            elif isinstance(message, wire.Status) and message.state == "estop":
                self._stop_waits = False

    @staticmethod
    def _forbidden(topic: str) -> str:
        return f"the broker does not let us publish on {topic}; check its access list"

    def _publish_refused(self, topic: str) -> None:
        # A broker may forbid leases; `rigs check` reports it.
        if topic != self._topics.of("lease"):
            self._refused = self._forbidden(topic)
            if self._on_state is not None:
                self._on_state(False)

    def _message(self, topic: str, payload: bytes, retained: bool) -> None:
        if topic == self._lease_topic:
            self.lease.take(payload, retained)
            return
        if self._stop_waits and topic == self._topics.of("status"):
            self._stop_again(payload)
        on_frame = self._on_frame
        if on_frame is None:
            with self._lock:
                on_frame = self._on_frame
                if on_frame is None:
                    self._early.append((payload, retained))
                    return
        on_frame(payload, retained)

    def _link_changed(self, up: bool) -> None:
        self.lease.link_changed(up)
        if self._on_state is not None:
            self._on_state(up)


class MqttPort(Port):
    """The device's end.

    If another device answers under the same name, this one reports it once and disconnects.

    Args:
        url: the broker's.
        rig: the device's name at the broker; by default the URL's path.
        timeout: time in which the broker must answer, s.
        on_conflict: takes one line about another device under this name, on another thread, and must close
            this port; by default the line is printed and the port closes itself.
    """

    def __init__(
        self, url: str, rig: str = "", timeout: float = 5.0, *, on_conflict: Tell | None = None
    ) -> None:
        address = parse_mqtt_url(url)
        self._address = dataclasses.replace(address, rig=check_rig_name(rig or address.rig))
        self.name = self._address.name
        self._topics = Topics(self._address.rig)
        self._stop_topic = self._topics.of("estop")
        self._result_topic = self._topics.of("result")
        self._status_topic = self._topics.of("status")
        # A broker disconnects a client when another one connects with its id, so the id must be secret.
        self._client_id = f"pathrig-device-{self._address.rig}-{secrets.token_hex(8)}"
        self._timeout = timeout
        self._handler: PortHandler | None = None
        self._connection: MqttConnection | None = None
        self._on_conflict = on_conflict
        self._names = NameMonitor(None)
        self._last_will = b""
        self.conflict: str | None = None
        """Why this device has disconnected: another one answers under its name; one line."""
        self._retained_calls = 0

    @property
    def dropped(self) -> int:
        """Number of retained calls, which are never run."""
        return self._retained_calls

    def open(self, handler: PortHandler, last_will: wire.Status, max_frame: int) -> None:
        """Connect, with the status offline as last will. Raises LinkError."""
        self._handler = handler
        self._names = NameMonitor(last_will.boot)
        self._last_will = encode(last_will)
        self._connection = MqttConnection(
            self._address,
            self._client_id,
            subscriptions=[
                (self._topics.of("estop"), 1, True),
                (self._topics.of("call"), 1, True),
                (self._status_topic, 0, False),
            ],
            on_message=self._message,
            on_link=self._link_changed,
            will=(self._status_topic, self._last_will),
        )
        self._connection.open(self._timeout)

    def send(self, message: wire.DeviceMessage, payload: bytes) -> None:
        """Publish on the message's topic: samples with QoS 0, status retained."""
        if self._connection is None:
            return
        # By op: a failing isinstance is slow for pydantic's models.
        if message.op == "result":
            self._connection.publish(self._result_topic, payload, correlation=str(message.id))
        elif message.op == "sample":
            self._connection.publish(self._topics.sample(message.sensor), payload, qos=0)
        elif message.op == "status":
            self._connection.publish(self._status_topic, payload, retain=True)
        elif message.op == "truth":
            self._connection.publish(self._topics.of("truth"), payload)
        else:
            self._connection.publish(self._result_topic, payload)

    def close(self, last: bytes) -> None:
        """Publish the last status and disconnect."""
        if self._connection is None:
            return
        info = self._connection.publish(self._status_topic, last, retain=True)
        if info is not None:
            with contextlib.suppress(RuntimeError, ValueError):
                info.wait_for_publish(1.0)
        self._connection.close()

    def socket(self) -> socket.socket | None:
        """The live socket."""
        return None if self._connection is None else self._connection.socket()

    def _message(self, topic: str, payload: bytes, retained: bool) -> None:
        assert self._handler is not None
        if topic == self._stop_topic:
            self._handler.on_stop()
        elif topic == self._status_topic:
            self._status_came(payload, retained)
        elif retained:
            # A retained call would be run again after every reconnection.
            self._retained_calls += 1
        else:
            self._handler.on_frame(payload)

    def _status_came(self, payload: bytes, retained: bool) -> None:
        try:
            status = decode_device_message(payload)
        except CodecError:
            return
        if not isinstance(status, wire.Status) or self.conflict is not None:
            return
        finding = self._names.take(status, retained)
        if finding == "answer" and self._handler is not None:
            self._handler.on_up()
        elif finding == "conflict":
            self.conflict = (
                f"another device answers as {self.name} (its boot is {self._names.other!r}): "
                "switch one off, or give it another name"
            )
            threading.Thread(target=self._give_up, args=(self.conflict,), daemon=True).start()

    def _give_up(self, conflict: str) -> None:
        if self._on_conflict is not None:
            self._on_conflict(conflict)
        else:
            tell_terminal(conflict)
            self.close(self._last_will)

    def _link_changed(self, up: bool) -> None:
        if up and self._handler is not None:
            self._names.connected()
            self._handler.on_up()
