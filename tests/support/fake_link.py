"""A link whose far end is a function, and devices that know no more than the contract."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

from devices.outcome import StopOutcome
from firmware_bridge.link import Link, LinkError

Reply = Callable[["FakeLink", dict[str, Any]], None]


class FakeLink(Link):
    """A link whose far end is a function; replies come on a thread of their own."""

    name = "fake"
    connected = True
    dropped = 0

    def __init__(self, reply: Reply, default_max_frame: int | None = None) -> None:
        self.reply = reply
        self.default_max_frame = default_max_frame
        self.comes_back = False
        self.sent: list[dict[str, Any]] = []
        self.stops = 0
        self.discards = 0
        self._on_frame: Any = None
        self._on_state: Any = None

    def attach(self, on_frame: Any, on_state: Any) -> None:
        self._on_frame, self._on_state = on_frame, on_state

    def ensure(self, timeout: float) -> None:
        if self.comes_back:
            self.connected = True
            self._on_state(True)
        if not self.connected:
            raise LinkError("the cable is out")

    def send(self, payload: bytes) -> None:
        if not self.connected:
            raise LinkError("the cable is out")
        message = json.loads(payload)
        self.sent.append(message)
        threading.Thread(target=self.reply, args=(self, message), daemon=True).start()

    def say(self, message: dict[str, Any] | bytes, retained: bool = False) -> None:
        payload = message if isinstance(message, bytes) else json.dumps(message).encode()
        self._on_frame(payload, retained)

    def lose(self) -> None:
        self.connected = False
        self._on_state(False)

    def estop(self) -> StopOutcome | None:
        self.stops += 1
        return None

    def discard(self) -> None:
        self.discards += 1

    def close(self) -> None:
        self.connected = False

    def of(self, op: str) -> list[dict[str, Any]]:
        return [message for message in list(self.sent) if message["op"] == op]


def bare(link: FakeLink, message: dict[str, Any]) -> None:
    """A device that sends nothing that it may leave out: no ack, no pong, no times, no limits."""
    if message["op"] == "hello":
        link.say({"op": "status", "state": "estop" if link.stops else "online"})
    elif message["op"] == "call":
        link.say({"op": "result", "id": message["id"], "status": "ok", "value": {}, "colour": "red"})


def with_clock(start_ms: float) -> Reply:
    born = time.monotonic()

    def reply(link: FakeLink, message: dict[str, Any]) -> None:
        if message["op"] == "ping":
            link.say({"op": "pong", "m": int((time.monotonic() - born) * 1000 + start_ms)})
        else:
            bare(link, message)

    return reply


polite = with_clock(0.0)
