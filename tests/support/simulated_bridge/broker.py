"""A broker of MQTT 3.1.1 on simulated connections: QoS 0 and 1, retained messages, last wills."""

from __future__ import annotations

import struct
from collections.abc import Callable
from random import Random
from typing import Any

from simulated_bridge.system import WORLD, Socket, process

CONNECT, PUBLISH, PUBACK, SUBSCRIBE, PINGREQ, DISCONNECT = 1, 3, 4, 8, 12, 14
LATENCY = (0.0002, 0.001, 0.004, 0.02)


def _text(data: bytes, at: int) -> tuple[bytes, int]:
    (length,) = struct.unpack_from("!H", data, at)
    return data[at + 2 : at + 2 + length], at + 2 + length


def _packet(head: int, body: bytes) -> bytes:
    length, size = len(body), bytearray()
    while True:
        length, digit = divmod(length, 128)
        size.append(digit | (128 if length else 0))
        if not length:
            return bytes([head]) + bytes(size) + body


class _BrokerEnd(Socket):
    """The broker's end of a connection."""

    on_data: Callable[[bytes], None]

    def _take(self, data: bytes) -> None:
        if self.held is not None:
            self.held.append(data)
        else:
            self.on_data(data)


class _Client:
    """What the broker knows of one connection."""

    def __init__(self, broker: Broker, end: _BrokerEnd, far: Socket, chance: Random) -> None:
        self.broker, self.end, self.far, self.chance = broker, end, far, chance
        self.name = ""
        self.will: tuple[str, bytes, bool] | None = None
        self.filters: list[tuple[str, int]] = []
        self.keep_alive = 0.0
        self.heard = WORLD[0].now
        self.gone = False
        self._waiting = bytearray()
        self._next = 0
        end.on_data = self.on_data

    def on_data(self, data: bytes) -> None:
        if self.gone:
            return
        if not data:
            self.drop(clean=False)
            return
        self.heard = WORLD[0].now
        self._waiting += data
        while len(self._waiting) >= 2:
            length = shift = 0
            at = 1
            while True:
                if at >= len(self._waiting):
                    return
                digit = self._waiting[at]
                length |= (digit & 127) << shift
                at, shift = at + 1, shift + 7
                if digit < 128:
                    break
            if len(self._waiting) < at + length:
                return
            head, body = self._waiting[0], bytes(self._waiting[at : at + length])
            del self._waiting[: at + length]
            self._packet(head, body)

    def _packet(self, head: int, body: bytes) -> None:
        match head >> 4:
            case 1:
                self._connect(body)
            case 3:
                self._publish(head, body)
            case 8:
                self._subscribe(body)
            case 12:
                self.send(_packet(0xD0, b""))
            case 14:
                self.will = None
                self.drop(clean=True)

    def _connect(self, body: bytes) -> None:
        _, at = _text(body, 0)
        flags, keep_alive = body[at + 1], struct.unpack_from("!H", body, at + 2)[0]
        name, at = _text(body, at + 4)
        self.name, self.keep_alive = name.decode(), 1.5 * keep_alive
        if flags & 4:
            topic, at = _text(body, at)
            payload, at = _text(body, at)
            self.will = topic.decode(), payload, bool(flags & 32)
        for other in list(self.broker.clients):
            if other is not self and other.name == self.name:
                other.drop(clean=False)
        self.send(_packet(0x20, b"\0\0"))
        self._watch()

    def _watch(self) -> None:
        here = WORLD[0]
        if self.gone:
            return
        if here.now - self.heard >= self.keep_alive:
            self.drop(clean=False)
        else:
            here.at(max(self.heard + self.keep_alive, here.now + 0.01), self._watch)

    def _subscribe(self, body: bytes) -> None:
        at, granted = 2, bytearray()
        while at < len(body):
            topic, at = _text(body, at)
            self.filters.append((topic.decode(), body[at]))
            granted.append(body[at])
            at += 1
        self.send(_packet(0x90, body[:2] + bytes(granted)))
        for topic_, payload in self.broker.retained.items():
            self.deliver(topic_, payload, retained=True)

    def _publish(self, head: int, body: bytes) -> None:
        topic, at = _text(body, 0)
        if head & 6:
            self.send(_packet(0x40, body[at : at + 2]))
            at += 2
        self.broker.route(topic.decode(), body[at:], retain=bool(head & 1))

    def deliver(self, topic: str, payload: bytes, *, retained: bool = False) -> None:
        """Send a message to this client, if it has subscribed to it."""
        for wanted, qos in self.filters:
            if topic == wanted or (wanted.endswith("#") and topic.startswith(wanted[:-1])):
                body = struct.pack("!H", len(topic)) + topic.encode()
                if qos:
                    self._next = self._next % 65535 + 1
                    body += struct.pack("!H", self._next)
                self.send(_packet(0x30 | qos << 1 | retained, body + payload))
                return

    def send(self, data: bytes) -> None:
        if not self.gone:
            self.far.arrive(data)

    def drop(self, *, clean: bool) -> None:
        """End the connection."""
        if self.gone:
            return
        self.gone = True
        self.broker.clients.remove(self)
        if self.far.held is None:
            self.far.arrive(b"")
        else:
            self.far.held.append(b"")
        if self.will is not None and not clean:
            topic, payload, retain = self.will
            self.broker.route(topic, payload, retain=retain)


class Broker:
    """A broker, and the network around it.

    Attributes:
        up: whether it runs.
        disorder: whether messages are lost, late, and come twice.
        parted: names of the processes that the network does not reach.
    """

    def __init__(self) -> None:
        self.up, self.disorder = True, False
        self.clients: list[_Client] = []
        self.retained: dict[str, bytes] = {}
        self.parted: set[str] = set()
        self._sockets: dict[str, list[tuple[Socket, Socket]]] = {}

    def connect(self, _address: Any, timeout: float | None = None, **_: Any) -> Socket:
        """Return a connection of the running process; socket.create_connection."""
        here, name = WORLD[0], process().kind
        if name in self.parted:
            here.sleep(timeout or 5.0)
            raise TimeoutError("timed out")
        label = process().label
        there, back = here.stream(f"to the broker from {label}"), here.stream(f"from the broker to {label}")
        here.sleep(there.choice(LATENCY))
        if not self.up:
            raise ConnectionRefusedError("connection refused")
        near, end = Socket(), _BrokerEnd()
        process().files.remove(end)
        near.peer, end.peer = end, near
        near.latency, end.latency = lambda: back.choice(LATENCY), lambda: there.choice(LATENCY)
        self._sockets.setdefault(name, []).append((near, end))
        if name in self.parted:
            near.held, end.held = [], []
        self.clients.append(_Client(self, end, near, here.stream(f"messages to {label}")))
        return near

    def route(self, topic: str, payload: bytes, *, retain: bool) -> None:
        """Pass a message on, and keep a retained one."""
        if retain and payload:
            self.retained[topic] = payload
        elif retain:
            self.retained.pop(topic, None)
        here = WORLD[0]
        for client in list(self.clients):
            if not self.disorder:
                client.deliver(topic, payload)
                continue
            for _ in range(client.chance.choice((0, 1, 1, 2, 2, 3))):
                late = client.chance.choice((0.0, 0.0, 0.5, 2.0, 6.0, 9.0))
                here.after(late, lambda client=client: client.deliver(topic, payload))  # type: ignore[misc]

    def part(self, name: str) -> None:
        """Let nothing through to or from a process."""
        self.parted.add(name)
        for pair in self._sockets.get(name, []):
            for one in pair:
                one.held = one.held or []

    def mend(self, name: str) -> None:
        """Let all through that waits."""
        self.parted.discard(name)
        for pair in self._sockets.get(name, []):
            for one in pair:
                one.mend()

    def stop(self) -> None:
        """Be killed: no last will is sent, and nothing kept."""
        self.up = False
        for client in list(self.clients):
            client.gone = True
            client.far.abort()
        self.clients.clear()
        self.retained.clear()

    def start(self) -> None:
        """Run again."""
        self.up = True


BROKER: list[Broker] = []
