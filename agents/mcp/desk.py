"""Hands the calls of MCP clients to an episode, one at a time, and their outcomes back."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from typing import Any

from agents.agent import Action, Agent, EpisodeContext, Observation, StopAction, ToolCallAction, Usage
from agents.deadline import Cancellation, CancelledError
from devices.outcome import Outcome
from devices.sensors import Sample

POLL_SECONDS = 0.05
"""Shortest wait between two looks at the time, s."""


@dataclass(frozen=True, slots=True)
class ClientCall:
    """A call of a client; `reply` is set to its outcome, or to None if the episode ended without one."""

    name: str
    arguments: Mapping[str, Any]
    reply: Future[Outcome | None] = field(default_factory=Future)


class CallDesk:
    """The calls of one episode, from all sessions that its clients open, one after the other or at once.

    The clients' side is `session`, `call`, `end`, `leave` and `use`; the episode's is the rest.

    Args:
        idle_seconds: time without an open session and without a call that ends the episode, s.

    Attributes:
        samples: returns the rig's latest readings by sensor; empty until an episode begins.
        made: how many calls the episode took.
        refused: how many calls came after its end.
        closed: done once the episode takes no further call.
    """

    def __init__(self, idle_seconds: float = math.inf) -> None:
        self.samples: Callable[[], Mapping[str, Sample]] = dict
        self.made = self.refused = 0
        self.closed: Future[None] = Future()
        self._idle_seconds = idle_seconds
        self._inbox: SimpleQueue[ClientCall | StopAction | None] = SimpleQueue()
        self._running: ClientCall | None = None
        self._lock = threading.Lock()
        self._cancellation = Cancellation()
        self._used = self._left = False
        self._news = threading.Event()
        self._sessions = 0
        self._quiet_since = time.monotonic()

    @contextmanager
    def session(self) -> Iterator[None]:
        """Context of an open session, or of a request: meanwhile the episode is not idle."""
        with self._lock:
            self._sessions += 1
        try:
            yield
        finally:
            with self._lock:
                self._sessions -= 1
                self._quiet_since = time.monotonic()

    def call(self, name: str, arguments: Mapping[str, Any]) -> Future[Outcome | None]:
        """Queue a call and return its reply. One that is cancelled before its turn is not made."""
        call = ClientCall(name, arguments)
        with self._lock:
            if self.closed.done():
                self.refused += 1
                call.reply.set_result(None)
            else:
                self._inbox.put(call)
        self.use()
        return call.reply

    def end(self, ending: StopAction) -> None:
        """End the episode after the queued calls."""
        self._inbox.put(ending)
        self.use()

    def leave(self) -> None:
        """End the episode after the queued calls: the program whose sessions they were has ended."""
        self._left = True
        self._inbox.put(StopAction("done"))
        self._news.set()

    def use(self) -> None:
        """Signal `wait_for_use` that a client has begun with the task."""
        self._used = True
        self._news.set()

    def wait_for_use(self, idle_seconds: float) -> bool:
        """Wait for the first use of the task; return False if the clients went, or were idle, without one."""
        while not (self._used or self._left or self._quiet_seconds() >= idle_seconds):
            self._news.wait(self._until_idle(idle_seconds))
        return self._used

    def wait_until_quiet(self, seconds: float, at_most: float = math.inf) -> None:
        """Wait until no session was open for so long, or the program has ended, or `at_most` seconds."""
        end = time.monotonic() + at_most
        while not self._left and self._quiet_seconds() < seconds and time.monotonic() < end:
            time.sleep(POLL_SECONDS)

    def begin(self, context: EpisodeContext) -> None:
        """Begin the episode."""
        self.samples = context.samples
        with self._lock:
            self._quiet_since = time.monotonic()
        self._cancellation = context.cancellation
        self._cancellation.over.add_done_callback(lambda _: self._inbox.put(None))

    def take(self) -> ClientCall | StopAction | None:
        """Wait for the next call or the end; return None if the episode was cancelled."""
        while not self._cancellation.cancelled:
            try:
                item = self._inbox.get(timeout=self._until_idle(self._idle_seconds))
            except Empty:
                if self._quiet_seconds() >= self._idle_seconds:
                    return StopAction("idle")
                continue
            if not isinstance(item, ClientCall):
                if item is not None:
                    return item
            elif item.reply.set_running_or_notify_cancel():
                self._running = item
                self.made += 1
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
        with self._lock, suppress(InvalidStateError):
            self.closed.set_result(None)
        self.answer(None)
        while True:
            try:
                item = self._inbox.get_nowait()
            except Empty:
                return
            if isinstance(item, ClientCall) and item.reply.set_running_or_notify_cancel():
                self.refused += 1
                item.reply.set_result(None)

    def _quiet_seconds(self) -> float:
        with self._lock:
            return 0.0 if self._sessions else time.monotonic() - self._quiet_since

    def _until_idle(self, idle_seconds: float) -> float | None:
        """Return how long it may still be quiet, s; None for ever."""
        left = idle_seconds - self._quiet_seconds()
        return None if math.isinf(left) else max(left, POLL_SECONDS)


class McpAgent(Agent):
    """Takes its actions from a desk, at which MCP clients call."""

    name = "mcp"
    scaffold = "mcp"

    def __init__(self, desk: CallDesk) -> None:
        self._desk = desk

    def start(self, context: EpisodeContext) -> None:
        """Begin an episode."""
        self._desk.begin(context)

    def act(self, observation: Observation | None) -> Action:
        """Reply to the last call, and return the next one."""
        if observation is not None:
            self._desk.answer(observation.outcome)
        asked = time.monotonic()
        taken = self._desk.take()
        usage = Usage(seconds=time.monotonic() - asked)
        if taken is None:
            raise CancelledError
        if isinstance(taken, ClientCall):
            return ToolCallAction(taken.name, taken.arguments, usage)
        return replace(taken, usage=usage)

    def close(self) -> None:
        """Answer all further calls: the episode is over."""
        self._desk.close()


def refusals(desk: CallDesk) -> str:
    """Return a line on the calls that came after the end of an episode; empty if none did."""
    if not desk.refused:
        return ""
    calls = "1 call" if desk.refused == 1 else f"{desk.refused} calls"
    return f"{calls} came after the end of the episode: refused"
