"""The state of a rig, from its messages alone."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from queue import Empty, SimpleQueue
from typing import Any

from core_eval.call_status import CallStatus
from devices.harm import HarmEvent
from devices.sensors import Sample, Truth
from firmware_bridge import messages as wire
from firmware_bridge.boots import Boots
from firmware_bridge.clock import MONOTONIC, Clock
from firmware_bridge.codec import CodecError, decode_device_message
from firmware_bridge.link_clock import LinkClock

DEAF_AFTER = 3
"""Number of pings without a pong, each with a later hello that was answered: the device answers no pings."""
ANSWERS_KEPT = 32
"""Number of results kept for comparison with later ones of the same id; a device keeps as many."""


@dataclass(slots=True)
class Pending:
    """The request in flight; `acked_until` and `give_up_at` are host time."""

    id: wire.MessageId
    give_up_at: float = math.inf
    result: wire.Result | None = None
    acks: int = 0
    acked_until: float = 0.0


@dataclass(frozen=True, slots=True)
class ClockReading:
    """The device's clock less ours (`offset`, s), read at host time `at`, within `round_trip` seconds."""

    at: float
    offset: float
    round_trip: float


@dataclass(frozen=True, slots=True)
class Callbacks:
    """Receivers of a rig's messages, called on the link's thread."""

    sample: Callable[[Sample], None] | None = None
    truth: Callable[[Truth], None] | None = None
    status: Callable[[wire.Status], None] | None = None
    noted: Callable[[str, Mapping[str, Any]], None] | None = None
    """Receives an anomaly that the host found: a short name, and its details."""
    rebooted: Callable[[], None] | None = None
    """Called when a status of another boot arrived; hello must be sent again."""


class Peer:
    """The state of the far end of a link; `lock` guards it.

    Attributes:
        time: the host's clock.
        status: the last status.
        status_count: how many statuses came that were no retained copies.
        offline_since: host time since when the rig has been offline, as it reported.
        down_since: host time at which the link was last seen to go down.
        boots: the boots of the statuses.
        conflict: why this rig must not be driven: two devices answer under its name; one line.
        init_id: the id of the last init.
        unfit: how many frames were no valid message.
        last_unfit: why the last of them was invalid; one line.
        strays: how many results belonged to no call of ours.
        contradictions: how many results differed from the first one of their id.
        pongs: how many pings were answered.
        passed_over: how many pings were not, although a hello after them was, before there was a pong.
        pong: host time of the answer to the last ping, and the device's clock in it, ms.
        ping_missed: the last ping was not answered in time, so its answer may still come.
        clock: the device's link clock.
        reading: the reading of the last ping.
        last_heard: host time of the last message.
        pending: the request in flight.
    """

    def __init__(self, name: str, callbacks: Callbacks, time: Clock = MONOTONIC) -> None:
        self.time = time
        self.lock = threading.Lock()
        self.status: wire.Status | None = None
        self.status_count = 0
        self.offline_since: float | None = None
        self.down_since = self.time.now()
        self.boots = Boots()
        self.conflict: str | None = None
        self.init_id: wire.MessageId | None = None
        self.unfit = 0
        self.last_unfit = ""
        self.contradictions = self.strays = 0
        self.pongs = self.passed_over = 0
        self.pong: tuple[float, float | None] | None = None
        self.clock = LinkClock()
        self.reading: ClockReading | None = None
        self.last_heard = 0.0
        self.pending: Pending | None = None
        self._name = name
        self._callbacks = callbacks
        self.ping_missed = False
        self._answers: OrderedDict[wire.MessageId, wire.Result] = OrderedDict()
        self._waiting: list[SimpleQueue[None]] = []

    @property
    def present(self) -> wire.Status | None:
        """The last status of a present rig; None if it is offline, or only a retained copy arrived."""
        status = self.status
        if status is None or status.state == "offline":
            return None
        return status if self.status_count or self.pongs else None

    @property
    def answers_no_pings(self) -> bool:
        """Whether the device has shown that it answers none; one that is not heard has shown nothing."""
        return not self.pongs and self.passed_over >= DEAF_AFTER

    @contextmanager
    def changes(self) -> Iterator[SimpleQueue[None]]:
        """A queue that receives an item at every change, for the duration of the block.

        A thread that waits on it holds no lock, so a signal handler may raise there.
        """
        queue: SimpleQueue[None] = SimpleQueue()
        self._waiting.append(queue)
        try:
            yield queue
        finally:
            self._waiting.remove(queue)

    def wait(self, done: Callable[[], bool], timeout: float) -> bool:
        """Wait until `done()`, at most `timeout` seconds; return whether it holds."""
        deadline = self.time.now() + timeout
        with self.changes() as changes:
            while not done():
                left = deadline - self.time.now()
                if left <= 0:
                    return False
                with suppress(Empty):
                    self.time.get(changes, left)
        return True

    def notify(self) -> None:
        """Wake all threads that wait for a change."""
        for queue in tuple(self._waiting):
            queue.put(None)

    def link_changed(self, up: bool) -> None:
        """Note that the link went up or down."""
        with self.lock:
            if up:
                self.clock.forget()
            else:
                self.down_since = self.time.now()
            self.notify()

    def pinged(self, sent: float, greeted: bool) -> tuple[float, bool] | None:
        """Measure the device's clock by a ping sent at this host time.

        `greeted` is whether a hello that was sent after it was answered. Return the round trip in s, and
        whether the pong is of this ping for certain; None without a pong.
        """
        with self.lock:
            pong, missed = self.pong, self.ping_missed
            self.ping_missed = pong is None
            if pong is None:
                self.passed_over += greeted
                return None
            received, device_ms = pong
            # After a missed pong this may be that one, late: it measures no clock.
            if device_ms is not None and not missed:
                self.clock.update(sent, received, device_ms, states_boot=self.boots.current is not None)
                middle = (sent + received) / 2
                self.reading = ClockReading(middle, device_ms / 1000 - middle, received - sent)
        return received - sent, not missed

    def take(self, payload: bytes, retained: bool) -> None:
        """Handle a frame; a link's `OnFrame`."""
        received = self.time.now()
        try:
            message = decode_device_message(payload)
        except CodecError as error:
            self.unfit += 1
            self.last_unfit = " ".join(str(error).split())
            self._take_unfit(error)
            return
        self.last_heard = received
        if message is None:
            return
        # By op: a failing isinstance is slow for pydantic's models.
        if message.op == "result":
            self._take_result(message)
        elif message.op == "ack":
            self._take_ack(message, received)
        elif message.op == "pong":
            self._take_pong(message, received)
        elif message.op == "status":
            self._take_status(message, retained)
        elif message.op == "sample":
            if self._callbacks.sample is not None:
                self._callbacks.sample(Sample(message.sensor, message.value, message.t))
        elif self._callbacks.truth is not None:
            events = tuple(
                HarmEvent(**{key: value for key, value in event.items() if key in _EVENT_KEYS})
                for event in message.events
                if event.keys() >= _EVENT_KEYS
            )
            # The truth of the last init belongs to no call.
            call_id = None if message.id in (None, self.init_id) else str(message.id)
            self._callbacks.truth(Truth(message.t, call_id, message.state, events))

    def _take_result(self, result: wire.Result) -> None:
        """Take the first result of an id as its answer; report a later one that differs."""
        with self.lock:
            pending = self.pending
            first = self._answers.get(result.id)
            if pending is not None and pending.id == result.id:
                if first is None:
                    self._answers[result.id] = result
                    if len(self._answers) > ANSWERS_KEPT:
                        self._answers.popitem(last=False)
                if pending.result is None:
                    pending.result = result
                    self.notify()
            elif first is None:
                self.strays += 1
            contradicts = first is not None and _content(first) != _content(result)
            self.contradictions += contradicts
        if contradicts and first is not None and self._callbacks.noted is not None:
            detail = {"id": result.id, "taken": _summary(first), "dropped": _summary(result)}
            self._callbacks.noted("contradiction", detail)

    def _take_unfit(self, error: CodecError) -> None:
        """Take an unreadable result as a fault, since a retry would get the same one."""
        data = error.data or {}
        message_id = data.get("id")
        if (data.get("op"), data.get("v", 1)) == ("result", 1) and isinstance(message_id, str | int):
            text = f"its result cannot be read: {error}"
            unfit = wire.Result(
                id=message_id, status=CallStatus.FAULT, error=wire.ResultError(code="protocol", message=text)
            )
            self._take_result(unfit)

    def _take_ack(self, ack: wire.Ack, received: float) -> None:
        with self.lock:
            pending = self.pending
            if pending is not None and pending.id == ack.id:
                pending.acks += 1
                pending.acked_until = received + max(0.0, ack.eta or 0.0)
                self.notify()

    def _take_pong(self, pong: wire.Pong, received: float) -> None:
        with self.lock:
            self.pongs += 1
            if self.boots.is_another(pong):
                # A late one of before a reset, or the first word after one: the status tells.
                self.clock.doubtful = True
            elif self.pong is None:
                self.pong = (received, pong.m)
            self.notify()

    def _take_status(self, status: wire.Status, retained: bool) -> None:
        with self.lock:
            another = self.boots.take(status, retained)
            if self.boots.conflict:
                self.conflict = f"two devices answer as {self._name}: switch one off, or give it another name"
            if status.state != "offline" or not self.boots.is_another(status):
                self.status = status
                if not retained:
                    self.status_count += 1
                if status.state != "offline":
                    self.offline_since = None
                elif self.offline_since is None:
                    self.offline_since = self.time.now()
            if another:
                self.clock.restart()
            self.notify()
        if self._callbacks.status is not None:
            self._callbacks.status(status)
        if another and not self.boots.conflict and self._callbacks.rebooted is not None:
            self._callbacks.rebooted()


_EVENT_KEYS = frozenset(field.name for field in fields(HarmEvent))


def _content(result: wire.Result) -> tuple[object, ...]:
    """Return what all results of one id must agree in; times and wording may differ."""
    return result.status, result.value, None if result.error is None else result.error.code


def _summary(result: wire.Result) -> str:
    code = None if result.error is None else result.error.code
    return f"{result.status} {code}" if code else result.status
