"""A connection to rosbridge_server: its protocol 2, JSON over a websocket.

Source: ROSBRIDGE_PROTOCOL.md of rosbridge_suite, branch ros2, and rosbridge_library's `send_action_goal.py`.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any

Message = Mapping[str, Any]
CLOSE_SECONDS = 0.5
UNREADABLE = (ValueError, TypeError, LookupError, AttributeError)


class Rosbridge:
    """An open connection, with the last reading of each subscription. Raises OSError: it cannot be opened.

    Args:
        url: `ws://HOST:9090`.
        seconds: time for an answer.
    """

    def __init__(self, url: str, seconds: float) -> None:
        try:
            from websockets.exceptions import WebSocketException
            from websockets.sync.client import connect
        except ImportError:
            raise OSError("ROS 2 needs websockets: pip install 'pathrig[ros2]'") from None
        self._broken: tuple[type[Exception], ...] = (OSError, WebSocketException)
        self._seconds = seconds
        self._news = threading.Condition()
        self._gone = ""
        self._readers: dict[str, tuple[str, Callable[[Any], Any]]] = {}
        self._readings: dict[str, tuple[float, Any]] = {}
        self._answers: dict[str, Message] = {}
        try:
            # A mute server may hear the stop, so nothing closes the connection but a loss.
            self._socket = connect(
                url,
                open_timeout=seconds,
                close_timeout=CLOSE_SECONDS,
                ping_interval=None,
                compression=None,
                proxy=None,
            )
        except (*self._broken, ValueError) as error:
            raise OSError(f"no rosbridge at {url}: {error}") from None
        threading.Thread(target=self._read, name=f"read {url}", daemon=True).start()

    def close(self) -> None:
        """Close the connection. Never raises."""
        self._socket.close()

    @property
    def gone(self) -> bool:
        """Whether the connection is lost or closed."""
        return bool(self._gone)

    def send(self, op: str, **fields: Any) -> None:
        """Send an operation. Raises OSError."""
        try:
            self._socket.send(json.dumps({"op": op, **fields}))
        except self._broken as error:
            raise OSError(f"rosbridge is gone: {error}") from None

    def subscribe(self, name: str, topic: str, kind: Any, read: Callable[[Any], Any], **how: Any) -> None:
        """Have every message of a topic from now on, as `read` reads it; one that it cannot read is none."""
        self._readers[name] = topic, read
        self.send(
            "subscribe", id=name, topic=topic, queue_length=1, **({"type": kind} if kind else {}), **how
        )

    def ping(self) -> None:
        """Wait for the answer to a ping. Raises TimeoutError, OSError."""
        try:
            answered = self._socket.ping().wait(self._seconds)
        except self._broken as error:
            raise OSError(f"rosbridge is gone: {error}") from None
        if not answered:
            raise TimeoutError("rosbridge does not answer a ping")

    def call(self, service: str, kind: str) -> Any:
        """Call a service without arguments, and return its response. Raises TimeoutError, OSError."""
        number = uuid.uuid4().hex
        self.send("call_service", id=number, service=service, type=kind, args={})
        return self._wait(lambda: self._answers.pop(number, None), f"no answer of {service}")

    def next(self, name: str, fresh: Callable[[Any], bool] = lambda reading: True) -> Any:
        """Return the first reading from now on that is `fresh`. Raises TimeoutError, OSError."""
        began = time.monotonic()

        def found() -> Any:
            at, reading = self._readings.get(name, (began, None))
            return reading if at > began and fresh(reading) else None

        return self._wait(found, f"no message on {self._readers[name][0]}")

    def last(self, name: str) -> Any:
        """Return the last reading of a subscription, or wait for the first. Raises TimeoutError, OSError."""
        return self._wait(
            lambda: self._readings.get(name, (0.0, None))[1], f"no message on {self._readers[name][0]}"
        )

    def result(self, goal: str) -> Message | None:
        """Return the result of an action's goal; None: it has not ended."""
        return self._answers.get(goal)

    def _wait(self, found: Callable[[], Any], lacking: str) -> Any:
        deadline = time.monotonic() + self._seconds
        with self._news:
            while not self._gone:
                if (value := found()) is not None:
                    return value
                if not self._news.wait(max(0.0, deadline - time.monotonic())):
                    raise TimeoutError(lacking)
        raise OSError(self._gone)

    def _read(self) -> None:
        why = "the connection was closed"
        try:
            for text in self._socket:
                with contextlib.suppress(*UNREADABLE):
                    self._take(json.loads(text))
        except self._broken as error:
            why = str(error)
        with self._news:
            self._gone = f"rosbridge is gone: {why}"
            self._news.notify_all()
        self._socket.close()

    def _take(self, message: Message) -> None:
        if message["op"] == "publish":
            for name, (topic, read) in list(self._readers.items()):
                if topic == message["topic"]:
                    with contextlib.suppress(*UNREADABLE):
                        self._readings[name] = time.monotonic(), read(message["msg"])
        elif message["op"] in ("action_result", "service_response"):
            self._answers[message["id"]] = message
        with self._news:
            self._news.notify_all()
