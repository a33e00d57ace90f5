"""Distributes a machine's messages: to the step that waits for an answer, and to the reports."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from devices.drivers.patterns import MachineMessage
from firmware_bridge.clock import MONOTONIC, Clock


class Lost(Exception):
    """The wire is lost."""


class Subscription:
    """The messages since its start, for one thread that waits for them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._messages: queue.SimpleQueue[MachineMessage | None] = queue.SimpleQueue()

    def put(self, message: MachineMessage | None) -> None:
        """Add a message; None: the wire is lost."""
        self._messages.put(message)

    def next(self, timeout: float) -> MachineMessage | None:
        """Return the next message; None after `timeout` seconds.

        Raises:
            Lost: the wire is lost.
        """
        try:
            message = self._clock.get(self._messages, max(0.0, timeout))
        except queue.Empty:
            return None
        if message is None:
            raise Lost
        return message

    def clear(self) -> list[MachineMessage]:
        """Remove and return the messages so far: they answer no later command."""
        dropped = []
        while not self._messages.empty():
            message = self._messages.get()
            if message is not None:
                dropped.append(message)
        return dropped


class Conversation:
    """Passes each message to the reports and to all subscriptions, and keeps the last one of each topic."""

    def __init__(self, on_report: Callable[[MachineMessage], None], clock: Clock = MONOTONIC) -> None:
        self.clock = clock
        self._on_report = on_report
        self._subscriptions: list[Subscription] = []
        self._lock = threading.Lock()
        self.last: dict[str, MachineMessage] = {}
        self.messages = 0
        """How many messages came."""

    @contextmanager
    def subscribed(self) -> Iterator[Subscription]:
        """Subscribe for the duration of the block."""
        subscription = Subscription(self.clock)
        with self._lock:
            self._subscriptions.append(subscription)
        try:
            yield subscription
        finally:
            with self._lock:
                self._subscriptions.remove(subscription)

    def publish(self, message: MachineMessage) -> None:
        """Distribute a message; called on the reader thread."""
        with self._lock:
            self.messages += 1
            if message.topic:
                self.last[message.topic] = message
            subscriptions = list(self._subscriptions)
        self._on_report(message)
        for subscription in subscriptions:
            subscription.put(message)

    def forget(self, topics: Iterable[str]) -> None:
        """Discard the last messages of these topics."""
        with self._lock:
            for topic in topics:
                self.last.pop(topic, None)

    def lost(self) -> None:
        """Wake all waiting threads: the wire is lost."""
        with self._lock:
            self.last.clear()
            subscriptions = list(self._subscriptions)
        for subscription in subscriptions:
            subscription.put(None)
