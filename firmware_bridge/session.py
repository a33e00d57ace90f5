"""The lower half of the host's client: what comes in over the link, pings, and the device's clock."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from core_eval.path.calls import CallStatus
from devices.device import Truth
from devices.harm import HarmEvent
from devices.sensors import Sample
from firmware_bridge import messages as wire
from firmware_bridge.boots import Boots
from firmware_bridge.codec import CodecError, decode_device_message, encode
from firmware_bridge.link import BrokeredLink, Link, LinkError, Waiting
from firmware_bridge.link_clock import LinkClock

HELLO = encode(wire.Hello())
PING = encode(wire.Ping())
LEASE_BEAT = 2.0
"""Seconds between two renewals of a rig's lease, at most."""
ANSWERS_KEPT = 32
"""Answers that later ones with the same id are held against; a device keeps as many."""


@dataclass(slots=True)
class Pending:
    """The one call that waits for its result; `acked_until` and `give_up_at` are host time."""

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
    """Where what a rig publishes goes, on the thread that reads."""

    sample: Callable[[Sample], None] | None = None
    truth: Callable[[Truth], None] | None = None
    status: Callable[[wire.Status], None] | None = None
    noted: Callable[[str, Mapping[str, Any]], None] | None = None
    """Something odd that the host found: a short word, and what it is."""


class RigSession:
    """What the host knows of a rig from its messages; `changed` guards it and is notified of every news.

    Attributes:
        link: the link.
        status: the last status.
        news: counts what was notified.
        status_count: how many statuses came that were no retained copies.
        offline_since: host time since when the rig has said that it is offline.
        down_since: host time at which the link was last seen to go down.
        boots: which device says these statuses.
        init_id: the id of the last init.
        unfit: how many frames were no message of ours.
        last_unfit: why the last of them was none; one line.
        pongs: how many pings were answered.
        clock: the device's link clock.
        reading: what the last ping told of it.
        last_heard: host time of the last message.
        pending: the call that waits.
        ending: why the link was closed, for whoever still waits.
    """

    def __init__(self, link: Link, callbacks: Callbacks) -> None:
        self.link = link
        self.changed = threading.Condition(threading.Lock())
        self.news = 0
        self.status: wire.Status | None = None
        self.status_count = 0
        self.offline_since: float | None = None
        self.down_since = time.monotonic()
        self.boots = Boots()
        self.init_id: wire.MessageId | None = None
        self.pongs = 0
        self.clock = LinkClock()
        self.reading: ClockReading | None = None
        self.last_heard = 0.0
        self.pending: Pending | None = None
        self.ending = "the link was closed"
        self.closing = threading.Event()
        self.attached = False
        self._callbacks = callbacks
        self._one_ping = threading.Lock()
        self._pong: tuple[float, float | None] | None = None
        self._ping_missed = False
        self.unfit = 0
        self.last_unfit = ""
        self._contradictions = 0
        self._answers: OrderedDict[wire.MessageId, wire.Result] = OrderedDict()
        self._waiting = Waiting(link, self.changed)
        self._heart: threading.Thread | None = None

    @property
    def dropped(self) -> int:
        """Frames that did not check, were no message, or contradicted the answer that a call has."""
        return self.unfit + self._contradictions + self.link.dropped

    @property
    def conflict(self) -> str | None:
        """Why this rig must not be driven: two devices answer under its name; one line."""
        if not self.boots.conflict:
            return None
        return f"two devices answer as {self.link.name}: switch one off, or give it another name"

    def lost_at(self, now: float) -> float:
        """When the link was lost that is down now; `now` where it is up."""
        return now if self.link.connected else min(now, self.down_since)

    def attach(self) -> None:
        """Start taking messages."""
        if not self.attached:
            self.attached = True
            self.link.attach(self._frame, self._link_changed)

    def ping(self, timeout: float) -> float:
        """The round trip in seconds; measures the device's clock on the way. Raises LinkError."""
        with self._one_ping:
            with self.changed:
                self._pong = None
            sent = time.monotonic()
            self.link.send(PING)
            self.wait(lambda: self._pong is not None, timeout)
            with self.changed:
                pong, missed = self._pong, self._ping_missed
                self._ping_missed = pong is None
                if pong is None:
                    raise LinkError(f"no pong from {self.link.name} within {timeout:.2g} s")
                received, device_ms = pong
                # After a missed pong this may be that one, late: a sign of life, but no measure of the clock.
                if device_ms is not None and not missed:
                    self.clock.update(sent, received, device_ms)
                    middle = (sent + received) / 2
                    self.reading = ClockReading(middle, device_ms / 1000 - middle, received - sent)
            return received - sent

    def measure(self, timeout: float) -> bool:
        """Ping until the clock is measured anew; whether the rig answered."""
        try:
            for _ in range(2 if self._ping_missed else 1):
                self.ping(timeout)
        except LinkError:
            return False
        return True

    def hello(self, timeout: float, until: Callable[[wire.Status], bool] = lambda status: True) -> bool:
        """Say hello; whether a live status came for which `until` holds. Raises LinkError."""
        with self.changed:
            seen = self.status_count
        return self.hello_since(seen, timeout, until)

    def hello_since(self, seen: int, timeout: float, until: Callable[[wire.Status], bool]) -> bool:
        """Like `hello`, but any status after the `seen`th counts. Raises LinkError."""
        self.link.send(HELLO)
        return self.wait(
            lambda: self.status_count > seen and self.status is not None and until(self.status), timeout
        )

    def wait(self, done: Callable[[], bool], timeout: float) -> bool:
        """Wait until `done()`, at most `timeout` seconds; whether it is. It is called at every news."""
        return self._waiting.until(done, timeout)

    def wait_for_news(self, seen: int, timeout: float) -> None:
        """Wait until `news` is no longer `seen`, at most `timeout` seconds."""
        self._waiting.until(lambda: self.news != seen, timeout)

    def give_up(self, within: float) -> None:
        """Let the call that waits for its result, if there is one, wait so many seconds at most."""
        with self.changed:
            if self.pending is not None:
                self.pending.give_up_at = min(self.pending.give_up_at, time.monotonic() + within)
            self.news += 1
        self._waiting.interrupt()

    def beat(self) -> None:
        """Start the heartbeat: a ping every third of the device's watchdog time, or every second."""
        if self._heart is None:
            self._heart = threading.Thread(target=self._beat, name=f"heartbeat {self.link.name}", daemon=True)
            self._heart.start()

    def close(self) -> None:
        """Close the link, and wake whoever waits."""
        self.closing.set()
        self.link.close()
        with self.changed:
            self._tell()

    def abandon(self, why: str) -> None:
        """Close the link of a rig that is gone for good, and tell whoever waits why. From any thread."""
        self.ending = why
        self.closing.set()
        with self.changed:
            self._tell()
        self._waiting.interrupt()
        self.link.close()

    def _beat(self) -> None:
        spent = 0.0
        brokered = self.link if isinstance(self.link, BrokeredLink) else None
        while True:
            watchdog = self.status.watchdog_ms if self.status is not None else None
            period = max(0.02, watchdog / 3000) if watchdog else 1.0
            if brokered is not None:
                period = min(period, LEASE_BEAT)
            if self.closing.wait(max(0.0, period - spent)):
                return
            began = time.monotonic()
            if brokered is not None:
                brokered.renew()
            if self.link.connected:
                with contextlib.suppress(LinkError):
                    self.ping(period)
            spent = time.monotonic() - began

    def _tell(self) -> None:
        self.news += 1
        self.changed.notify_all()

    def _link_changed(self, up: bool) -> None:
        with self.changed:
            if up:
                self.clock.forget()
            else:
                self.down_since = time.monotonic()
            self._tell()
        if up:
            with contextlib.suppress(LinkError):
                self.link.send(HELLO)

    def _frame(self, payload: bytes, retained: bool) -> None:
        received = time.monotonic()
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
        # Told by op: an isinstance that does not hold is slow for pydantic's models.
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
            self._callbacks.truth(_truth(message, self.init_id))

    def _take_result(self, result: wire.Result) -> None:
        """The first result of an id is its answer; a device that repeats it says the same again."""
        with self.changed:
            pending = self.pending
            first = self._answers.get(result.id)
            if pending is not None and pending.id == result.id:
                if first is None:
                    self._answers[result.id] = result
                    if len(self._answers) > ANSWERS_KEPT:
                        self._answers.popitem(last=False)
                if pending.result is None:
                    pending.result = result
                    self._tell()
            contradicts = first is not None and _said(first) != _said(result)
            self._contradictions += contradicts
        if contradicts and first is not None and self._callbacks.noted is not None:
            detail = {"id": result.id, "taken": _told(first), "dropped": _told(result)}
            self._callbacks.noted("contradiction", detail)

    def _take_unfit(self, error: CodecError) -> None:
        """An answer to our call that cannot be read is an answer: sent again, the call gets the same one."""
        data = error.data or {}
        message_id = data.get("id")
        if (data.get("op"), data.get("v", 1)) == ("result", 1) and isinstance(message_id, str | int):
            text = f"its result cannot be read: {error}"
            unfit = wire.Result(
                id=message_id, status=CallStatus.FAULT, error=wire.ResultError(code="protocol", message=text)
            )
            self._take_result(unfit)

    def _take_ack(self, ack: wire.Ack, received: float) -> None:
        with self.changed:
            pending = self.pending
            if pending is not None and pending.id == ack.id:
                pending.acks += 1
                pending.acked_until = received + max(0.0, ack.eta or 0.0)
                self._tell()

    def _take_pong(self, pong: wire.Pong, received: float) -> None:
        with self.changed:
            self.pongs += 1
            if self._pong is None:
                self._pong = (received, pong.m)
            self._tell()

    def _take_status(self, status: wire.Status, retained: bool) -> None:
        with self.changed:
            another = self.boots.take(status, retained)
            if status.state != "offline" or not self.boots.is_another(status):
                self.status = status
                if not retained:
                    self.status_count += 1
                if status.state != "offline":
                    self.offline_since = None
                elif self.offline_since is None:
                    self.offline_since = time.monotonic()
            if another:
                self.clock.start_anew()
            self._tell()
        if self._callbacks.status is not None:
            self._callbacks.status(status)
        if another and not self.boots.conflict:
            # Whoever is there says so: one device that was started anew, or the one from before as well.
            with contextlib.suppress(LinkError):
                self.link.send(HELLO)


_EVENT_KEYS = frozenset(field.name for field in fields(HarmEvent))


def _said(result: wire.Result) -> tuple[object, ...]:
    """What must be the same in all answers to one id; times and wording need not."""
    return result.status, result.value, None if result.error is None else result.error.code


def _told(result: wire.Result) -> str:
    code = None if result.error is None else result.error.code
    return f"{result.status} {code}" if code else result.status


def _truth(message: wire.Truth, init_id: wire.MessageId | None) -> Truth:
    """`init_id` is the id of the last init: the truth after it belongs to no call."""
    events = tuple(
        HarmEvent(**{key: value for key, value in event.items() if key in _EVENT_KEYS})
        for event in message.events
        if event.keys() >= _EVENT_KEYS
    )
    of_call = message.id is not None and message.id != init_id
    return Truth(message.t, str(message.id) if of_call else None, message.state, events)
