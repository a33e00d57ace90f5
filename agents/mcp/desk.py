"""Hands the calls of an MCP client to an episode, one at a time, and their outcomes back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

from agents.agent import EpisodeContext, StopReason
from agents.deadline import Cancellation
from devices.outcome import Outcome
from devices.sensors import Sample


@dataclass(frozen=True, slots=True)
class ClientCall:
    """A call of the client; `reply` is set to its outcome, or to None if the episode ended without one."""

    name: str
    arguments: Mapping[str, Any]
    reply: Future[Outcome | None] = field(default_factory=Future)


class CallDesk:
    """The calls of one session. The client's side is `call`, `end` and `use`; the episode's is the rest.

    Attributes:
        samples: returns the rig's latest readings by sensor; empty until an episode begins.
    """

    def __init__(self) -> None:
        self.samples: Callable[[], Mapping[str, Sample]] = dict
        self._inbox: SimpleQueue[ClientCall | StopReason | None] = SimpleQueue()
        self._running: ClientCall | None = None
        self._lock = threading.Lock()
        self._closed = self._used = False
        self._cancellation = Cancellation()
        self._news = threading.Event()

    def call(self, name: str, arguments: Mapping[str, Any]) -> Future[Outcome | None]:
        """Queue a call and return its reply. One that is cancelled before its turn is not made."""
        call = ClientCall(name, arguments)
        with self._lock:
            if self._closed:
                call.reply.set_result(None)
            else:
                self._inbox.put(call)
        self.use()
        return call.reply

    def end(self, reason: StopReason) -> None:
        """End the episode after the queued calls: the client ended its session, or was lost."""
        self._inbox.put(reason)
        self._news.set()

    def use(self) -> None:
        """Signal `wait_for_use` that the client has begun with the task."""
        self._used = True
        self._news.set()

    def wait_for_use(self) -> bool:
        """Wait for the client's first use of the task; return False if it went without one."""
        self._news.wait()
        return self._used

    def begin(self, context: EpisodeContext) -> None:
        """Begin the episode."""
        self.samples = context.samples
        self._cancellation = context.cancellation
        self._cancellation.over.add_done_callback(lambda _: self._inbox.put(None))

    def take(self) -> ClientCall | StopReason | None:
        """Wait for the next call or the end; return None if the episode was cancelled."""
        while not self._cancellation.cancelled:
            item = self._inbox.get()
            if not isinstance(item, ClientCall):
                if item is not None:
                    return item
            elif item.reply.set_running_or_notify_cancel():
                self._running = item
                return item
        return None

    def answer(self, outcome: Outcome | None) -> None:
        """Reply to the call that was taken last, if it has no reply yet."""
        with self._lock:
            running, self._running = self._running, None
        if running is not None:
            running.reply.set_result(outcome)

    def close(self) -> None:
        """Reply to all calls that the episode is over, also to later ones."""
        with self._lock:
            self._closed = True
        self.answer(None)
        while True:
            try:
                item = self._inbox.get_nowait()
            except Empty:
                return
            if isinstance(item, ClientCall) and item.reply.set_running_or_notify_cancel():
                item.reply.set_result(None)
