"""Who hears what the machine says: the step that waits for an answer, and the reports that come unasked."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from devices.drivers.patterns import Message


class Lost(Exception):
    """The wire is gone."""


class Ear:
    """Messages since a moment, for one who waits."""

    def __init__(self) -> None:
        self._messages: queue.SimpleQueue[Message | None] = queue.SimpleQueue()

    def hear(self, message: Message | None) -> None:
        """Take a message; None: the wire is lost."""
        self._messages.put(message)

    def next(self, timeout: float) -> Message | None:
        """The next message, or None when `timeout` seconds are over.

        Raises:
            Lost: the wire is gone.
        """
        try:
            message = self._messages.get(timeout=max(0.0, timeout))
        except queue.Empty:
            return None
        if message is None:
            raise Lost
        return message

    def forget(self) -> list[Message]:
        """Drop what was heard so far, as it answers nothing that is still to be asked; returns it."""
        dropped = []
        while not self._messages.empty():
            message = self._messages.get()
            if message is not None:
                dropped.append(message)
        return dropped


class Conversation:
    """Hands each message to the reports and to every ear, and keeps the last one of each topic."""

    def __init__(self, on_report: Callable[[Message], None]) -> None:
        self._on_report = on_report
        self._ears: list[Ear] = []
        self._lock = threading.Lock()
        self.last: dict[str, Message] = {}

    @contextmanager
    def listening(self) -> Iterator[Ear]:
        """An ear for as long as the block lasts."""
        ear = Ear()
        with self._lock:
            self._ears.append(ear)
        try:
            yield ear
        finally:
            with self._lock:
                self._ears.remove(ear)

    def hear(self, message: Message) -> None:
        """A message came, on the reader thread."""
        with self._lock:
            if message.topic:
                self.last[message.topic] = message
            ears = list(self._ears)
        self._on_report(message)
        for ear in ears:
            ear.hear(message)

    def forget(self, topics: Iterable[str]) -> None:
        """What was last said on these topics holds no longer."""
        with self._lock:
            for topic in topics:
                self.last.pop(topic, None)

    def lost(self) -> None:
        """The wire is gone: wake whoever waits."""
        with self._lock:
            self.last.clear()
            ears = list(self._ears)
        for ear in ears:
            ear.hear(None)
