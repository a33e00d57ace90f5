"""The host's client: synchronous calls above, the link's reader thread below."""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from devices.device import Truth
from devices.harm import HarmEvent
from devices.outcome import Outcome
from devices.sensors import Sample
from firmware_bridge import messages as wire
from firmware_bridge.codec import CodecError, decode_device_message, encode
from firmware_bridge.link import Link, LinkError
from firmware_bridge.link_clock import LinkClock

OFFLINE_GRACE = 5.0
"""Seconds that a rig may be offline in mid-call before the call is a fault."""
ETA_GRACE = 2.0
"""Seconds beyond an ack's eta before the call is sent again."""
MAX_STRETCH = 10.0
"""An ack's eta stretches a call's deadline to this many timeouts at most."""
STATUSES = ("ok", "rejected", "invalid", "fault")


@dataclass(slots=True)
class _Pending:
    id: wire.MessageId
    result: wire.Result | None = None
    acks: int = 0
    acked_until: float = 0.0


class RigClient:
    """Drives one rig over a link. Callbacks run on the reader thread and must not call back into the client.

    Trouble of the link never raises from `call` and `init`: it is an outcome with status `fault` and code
    `timeout` (no answer before the deadline), `link` (no link), `offline` (the rig said that it went),
    `device_reset` (it lost its memory in mid-call, so that a retry could run the call twice) or `protocol`
    (an unknown status). A call that is too long for the device's `max_frame` is `invalid`, code `too_long`.

    Args:
        link: an open link; the client closes it.
        on_sample, on_truth, on_status: take what the rig publishes.
        retry_after: seconds without an answer before a call is sent again, with the same id; then doubled.
    """

    def __init__(
        self,
        link: Link,
        *,
        on_sample: Callable[[Sample], None] | None = None,
        on_truth: Callable[[Truth], None] | None = None,
        on_status: Callable[[wire.Status], None] | None = None,
        retry_after: float = 1.0,
    ) -> None:
        self._link = link
        self._on_sample, self._on_truth, self._on_status = on_sample, on_truth, on_status
        self._retry_after = retry_after
        self._changed = threading.Condition()
        self._one_call = threading.Lock()
        self._one_ping = threading.Lock()
        self._pending: _Pending | None = None
        self._status: wire.Status | None = None
        self._status_count = 0
        self._offline_since: float | None = None
        self._pong: tuple[float, float | None] | None = None
        self._ping_missed = False
        self._pongs = 0
        self._clock = LinkClock()
        self._last_heard = 0.0
        self._malformed = 0
        self._attached = False
        self._closing = threading.Event()
        self._heart: threading.Thread | None = None

    def __enter__(self) -> RigClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def status(self) -> wire.Status | None:
        """The rig's last status."""
        return self._status

    @property
    def dropped(self) -> int:
        """Frames that did not check or were no message."""
        return self._malformed + self._link.dropped

    def open(self, timeout: float = 5.0) -> wire.Status:
        """Say hello until the rig answers.

        Raises:
            LinkError: nobody answers within `timeout` seconds.
        """
        deadline = time.monotonic() + timeout
        if not self._attached:
            self._attached = True
            self._link.attach(self._frame, self._link_changed)
        while not self._is_there():
            left = deadline - time.monotonic()
            if left <= 0:
                raise LinkError(self._nobody(timeout))
            self._link.ensure(left)
            if self._hello(min(0.5, left)) is None and self._status is not None:
                # Only the broker's retained status: believe it where the rig gives another sign of life.
                with contextlib.suppress(LinkError):
                    self.ping(min(0.5, left))
        for _ in range(3):
            with contextlib.suppress(LinkError):
                self.ping(0.5)
            if not self._pongs:
                break
        if self._heart is None:
            self._heart = threading.Thread(
                target=self._beat, name=f"heartbeat {self._link.name}", daemon=True
            )
            self._heart.start()
        assert self._status is not None
        return self._status

    def init(self, state: Mapping[str, Any], seed: int, timeout: float = 10.0) -> Outcome:
        """Back to the initial state with these overrides (simulators); code `no_answer` if none comes."""
        message_id = secrets.token_hex(6)
        try:
            payload = encode(wire.Init(id=message_id, state=dict(state), seed=seed))
        except (ValueError, TypeError) as error:
            return Outcome("invalid", code="arguments", message=f"the state has no JSON: {error}")
        with self._one_call:
            return self._exchange(message_id, lambda _: payload, "init", timeout, "no_answer")

    def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        call_id: str | None = None,
        timeout: float = 120.0,
    ) -> Outcome:
        """Run a tool and wait for its result; sent again with the same id where no answer comes."""
        message_id = call_id or secrets.token_hex(6)

        def payload(not_after: int | None) -> bytes:
            return encode(wire.Call(id=message_id, tool=tool, args=dict(arguments), not_after=not_after))

        try:
            payload(None)
        except (ValueError, TypeError) as error:
            return Outcome(
                "invalid", code="arguments", message=f"{tool}: the arguments have no JSON: {error}"
            )
        with self._one_call:
            return self._exchange(message_id, payload, tool, timeout, "timeout")

    def estop(self, timeout: float = 1.0) -> bool:
        """Stop the rig at once; whether it said within `timeout` that it is stopped. Works during a call.

        Raises:
            LinkError: the link is down, so that only the rig's own watchdog can stop it.
        """
        return self._switch(self._link.estop, "estop", timeout)

    def reset(self, timeout: float = 1.0) -> bool:
        """Leave the stop; whether the rig said within `timeout` that it is online.

        Raises:
            LinkError: the link is down.
        """
        return self._switch(lambda: self._link.send(encode(wire.Reset())), "online", timeout)

    def ping(self, timeout: float = 2.0) -> float:
        """The round trip in seconds; measures the device's link clock on the way.

        Raises:
            LinkError: no answer, or the link is down.
        """
        with self._one_ping:
            with self._changed:
                self._pong = None
            sent = time.monotonic()
            self._link.send(encode(wire.Ping()))
            with self._changed:
                self._changed.wait_for(lambda: self._pong is not None, timeout)
                pong, missed = self._pong, self._ping_missed
                self._ping_missed = pong is None
            if pong is None:
                raise LinkError(f"no pong from {self._link.name} within {timeout:g} s")
            received, device_ms = pong
            # After a missed pong this may be that one, late: a sign of life, but no measure of the clock.
            if device_ms is not None and not missed:
                with self._changed:
                    self._clock.update(sent, received, device_ms)
            return received - sent

    def drain(self, timeout: float = 2.0) -> bool:
        """Wait until all samples and truth that the rig has sent so far were delivered; whether they were.

        A ping goes through behind them. A rig that knows no ping has to be silent for 0.2 s instead.
        """
        deadline = time.monotonic() + timeout
        if self._pongs:
            with contextlib.suppress(LinkError):
                self.ping(timeout)
                return True
            return False
        while (quiet := time.monotonic() - self._last_heard) < 0.2:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.2 - quiet)
        return True

    def close(self, safe: bool = True) -> None:
        """End the link, after a stop when `safe`. Never raises."""
        if self._closing.is_set():
            return
        self._closing.set()
        if safe and self._attached:
            with contextlib.suppress(LinkError):
                self.estop()
        self._link.close()
        with self._changed:
            self._changed.notify_all()

    def _exchange(
        self,
        message_id: wire.MessageId,
        build: Callable[[int | None], bytes],
        what: str,
        timeout: float,
        unanswered: str,
    ) -> Outcome:
        start = time.monotonic()
        deadline = start + timeout
        pending = _Pending(message_id)
        payload: bytes | None = None
        restarts = 0
        pause, next_send = self._retry_after, start
        with self._changed:
            self._pending = pending
        try:
            while True:
                now = time.monotonic()
                if pending.result is not None:
                    return _outcome(pending.result)
                if pending.acks:
                    stretched = min(pending.acked_until + ETA_GRACE, start + MAX_STRETCH * timeout)
                    deadline = max(deadline, stretched)
                if self._closing.is_set():
                    return Outcome("fault", code="link", message="the link was closed")
                if now >= deadline:
                    return self._unanswered(what, timeout, unanswered)
                if self._offline_since is not None and now - self._offline_since > OFFLINE_GRACE:
                    return Outcome("fault", code="offline", message=f"the rig {self._link.name} went offline")
                if not self._link.connected:
                    self._link.ensure(deadline - now)
                    next_send = time.monotonic()
                    continue
                next_send = max(next_send, pending.acked_until + ETA_GRACE if pending.acks else 0.0)
                if now >= next_send:
                    if payload is None:
                        self._measure_clock(deadline)
                        payload = build(self._clock.device_ms(deadline))
                        restarts = self._clock.restarts
                        too_long = self._too_long(payload, what)
                        if too_long is not None:
                            return too_long
                        self._link.send(payload)
                    elif not self._alive(deadline):
                        continue
                    elif self._clock.restarts != restarts:
                        text = f"the device was reset while {what} ran; whether it was done is not known"
                        return Outcome("fault", code="device_reset", message=text)
                    else:
                        self._link.send(payload)
                    next_send, pause = time.monotonic() + pause, min(2 * pause, 4 * self._retry_after)
                with self._changed:
                    if pending.result is None and self._link.connected:
                        self._changed.wait(max(0.0, min(next_send, deadline) - time.monotonic()))
        except LinkError as error:
            self._link.discard()
            return Outcome("fault", code="link", message=str(error))
        finally:
            with self._changed:
                self._pending = None

    def _unanswered(self, what: str, timeout: float, code: str) -> Outcome:
        text = f"the rig {self._link.name} did not answer {what} within {timeout:g} s"
        return Outcome("fault", code=code, message=text)

    def _measure_clock(self, deadline: float) -> None:
        if self._pongs and not self._clock.known:
            with contextlib.suppress(LinkError):
                self.ping(min(1.0, max(0.0, deadline - time.monotonic())))

    def _alive(self, deadline: float) -> bool:
        """Whether a retry may go out: a rig that knows ping answers one first, which also shows a reset."""
        if not self._pongs:
            return True
        try:
            self.ping(min(self._retry_after, max(0.0, deadline - time.monotonic())))
        except LinkError:
            return False
        return not self._ping_missed

    def _too_long(self, payload: bytes, what: str) -> Outcome | None:
        limit = self._status.max_frame if self._status is not None else None
        if limit is None:
            limit = self._link.default_max_frame
        size = len(payload) + self._link.frame_overhead
        if limit is None or size <= limit:
            return None
        text = f"{what} has {size} bytes on the wire; the device takes {limit}"
        return Outcome("invalid", code="too_long", message=text)

    def _switch(self, send: Callable[[], None], state: str, timeout: float) -> bool:
        with self._changed:
            seen = self._status_count
        send()
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0:
            # hello, so that a rig that says nothing of its own accord tells its state
            self._link.send(encode(wire.Hello()))
            with self._changed:
                if self._changed.wait_for(lambda: self._is_state(state, seen), min(0.5, left)):
                    return True
        return False

    def _is_state(self, state: str, seen: int) -> bool:
        return self._status_count > seen and self._status is not None and self._status.state == state

    def _hello(self, timeout: float) -> wire.Status | None:
        with self._changed:
            seen = self._status_count
        self._link.send(encode(wire.Hello()))
        with self._changed:
            self._changed.wait_for(lambda: self._status_count > seen, timeout)
            return self._status if self._status_count > seen else None

    def _is_there(self) -> bool:
        status = self._status
        if status is None or status.state == "offline":
            return False
        return self._status_count > 0 or self._pongs > 0

    def _nobody(self, timeout: float) -> str:
        if self._status is not None and self._status.state == "offline":
            return f"the rig {self._link.name} is offline: start it, or check its power and network"
        return f"nobody answers at {self._link.name} within {timeout:g} s: is the rig on, and the name right?"

    def _beat(self) -> None:
        while True:
            watchdog = self._status.watchdog_ms if self._status is not None else None
            period = max(0.02, watchdog / 3000) if watchdog else 1.0
            if self._closing.wait(period):
                return
            if self._link.connected:
                with contextlib.suppress(LinkError):
                    self.ping(period)

    def _link_changed(self, up: bool) -> None:
        with self._changed:
            if up:
                self._clock.forget()
            self._changed.notify_all()

    def _frame(self, payload: bytes, retained: bool) -> None:
        received = time.monotonic()
        try:
            message = decode_device_message(payload)
        except CodecError:
            self._malformed += 1
            return
        self._last_heard = received
        match message:
            case wire.Sample():
                if self._on_sample is not None:
                    self._on_sample(Sample(message.sensor, message.value, message.t))
            case wire.Truth():
                if self._on_truth is not None:
                    self._on_truth(_truth(message))
            case wire.Status():
                self._take_status(message, retained)
            case wire.Result() | wire.Ack() | wire.Pong():
                self._take_answer(message, received)

    def _take_answer(self, message: wire.Result | wire.Ack | wire.Pong, received: float) -> None:
        with self._changed:
            pending = self._pending
            if isinstance(message, wire.Pong):
                self._pongs += 1
                if self._pong is None:
                    self._pong = (received, message.m)
            elif pending is None or pending.id != message.id:
                return
            elif isinstance(message, wire.Ack):
                pending.acks += 1
                pending.acked_until = received + max(0.0, message.eta or 0.0)
            else:
                pending.result = message
            self._changed.notify_all()

    def _take_status(self, status: wire.Status, retained: bool) -> None:
        with self._changed:
            self._status = status
            if not retained:
                self._status_count += 1
            if status.state != "offline":
                self._offline_since = None
            elif self._offline_since is None:
                self._offline_since = time.monotonic()
            self._changed.notify_all()
        if self._on_status is not None:
            self._on_status(status)


def _outcome(result: wire.Result) -> Outcome:
    error = result.error or wire.ResultError()
    value = result.value
    if value is not None and not isinstance(value, dict):
        value = {"value": value}
    status, code, message = result.status, error.code or None, error.message or None
    if status not in STATUSES:
        status, code, message = "fault", "protocol", f"the rig answered with the unknown status {status!r}"
    elif status != "ok":
        code, message = code or status, message or f"the rig gave no reason for {status}"
    return Outcome(status, value, code, message, result.t or 0.0, result.dur or 0.0)


_EVENT_KEYS = frozenset(field.name for field in fields(HarmEvent))


def _truth(message: wire.Truth) -> Truth:
    events = tuple(
        HarmEvent(**{key: value for key, value in event.items() if key in _EVENT_KEYS})
        for event in message.events
        if event.keys() >= _EVENT_KEYS
    )
    return Truth(message.t, None if message.id is None else str(message.id), message.state, events)
