"""Calls and inits: each is sent, and sent again with the same id, until its answer or its deadline."""

from __future__ import annotations

import math
import threading
from contextlib import suppress
from queue import Empty, SimpleQueue

from core_eval.call_status import CallStatus
from devices.outcome import Outcome
from firmware_bridge import messages as wire
from firmware_bridge.codec import encode
from firmware_bridge.link import Link, LinkError
from firmware_bridge.peer import Peer, Pending
from firmware_bridge.probe import HELLO, Probe, no_answer

LINK_BACK_SECONDS = 10.0
"""Time in which a lost link or a mute device must return, before a call is a fault and a run ends."""
OFFLINE_GRACE = 5.0
"""Seconds that a rig may be offline during a call before the call is a fault."""
ETA_GRACE = 2.0
"""Seconds beyond an ack's eta before the call is sent again."""
MAX_STRETCH = 10.0
"""An ack's eta extends a call's deadline to this many timeouts at most."""


class Requests:
    """The calls and inits of one host, one at a time; errors of the link are outcomes.

    Attributes:
        ended: why no more requests are answered; None while they are.
    """

    def __init__(self, link: Link, peer: Peer, probe: Probe, retry_after: float) -> None:
        self._link, self._peer, self._probe, self._clock = link, peer, probe, peer.time
        self._retry_after = retry_after
        self._one_request = threading.Lock()
        self.ended: str | None = None

    def end(self, reason: str) -> None:
        """Answer the request in flight, and all later ones, with the fault `link`. From any thread."""
        self.ended = self.ended or reason
        self._peer.notify()

    def give_up(self, within: float) -> None:
        """Wait at most `within` more seconds for the request in flight. From any thread."""
        with self._peer.lock:
            if self._peer.pending is not None:
                self._peer.pending.give_up_at = min(self._peer.pending.give_up_at, self._clock.now() + within)
        self._peer.notify()

    def run(
        self,
        message: wire.Call | wire.Init,
        timeout: float,
        within: float = math.inf,
        *,
        to_stopped: bool = True,
    ) -> Outcome:
        """Send a message and return its outcome; acks extend `timeout`, but not `within` (s).

        A call without `not_after` gets the one of its deadline if the device's clock is known. A message that
        JSON has no form of has the outcome `invalid`, code `arguments`. A call is not sent to a rig that this
        host has stopped, and is `rejected`, code `estop`; `to_stopped`: unless it was stopped before.
        """
        halted = to_stopped and self._link.rig.halted
        with self._one_request, self._peer.changes() as changes:
            pending = self._peer.pending = Pending(message.id, self._clock.now() + within)
            try:
                return self._until_answered(message, pending, changes, timeout, halted)
            except LinkError as error:
                if self.ended is None:
                    self._link.discard()
                    if pending.result is not None:
                        return outcome_of(pending.result)
                return fault("link", self.ended or str(error))
            finally:
                self._peer.pending = None

    def _until_answered(
        self,
        message: wire.Call | wire.Init,
        pending: Pending,
        changes: SimpleQueue[None],
        timeout: float,
        halted: bool,
    ) -> Outcome:
        peer, link = self._peer, self._link
        name, unanswered = (message.tool, "timeout") if message.op == "call" else ("init", "no_answer")
        start = now = next_send = linked = self._clock.now()
        deadline = start + timeout
        pause = self._retry_after
        payload = b""
        useless = peer.unfit, link.dropped, peer.strays
        restarts, asked = peer.clock.restarts, False
        while True:
            if peer.conflict is not None:
                return fault("two_devices", peer.conflict)
            if pending.result is not None:
                return outcome_of(pending.result)
            if pending.acks:
                stretched = min(pending.acked_until + ETA_GRACE, start + MAX_STRETCH * timeout)
                deadline = max(deadline, stretched)
                next_send = max(next_send, pending.acked_until + ETA_GRACE)
            deadline = min(deadline, pending.give_up_at)
            if self.ended is not None:
                return fault("link", self.ended)
            if now >= pending.give_up_at:
                return fault(unanswered, f"the call to {link.name} was given up after {now - start:.1f} s")
            if now >= deadline:
                return fault(unanswered, no_answer(link, peer, name, timeout, useless))
            until = deadline
            if (offline := peer.offline_since) is not None:
                until = min(until, offline + OFFLINE_GRACE)
                if now >= until:
                    return fault("offline", f"the rig {link.name} went offline")
            if peer.pongs:
                # A device that answers pings does so during a call too.
                heard = max(linked, peer.last_heard, pending.acked_until)
                until = min(until, heard + LINK_BACK_SECONDS)
                if now >= until:
                    return fault(unanswered, no_answer(link, peer, name, LINK_BACK_SECONDS, useless))
            if payload and peer.clock.restarts != restarts:
                text = f"the device was reset while {name} ran; whether it was done is not known"
                return fault("device_reset", text)
            if not link.connected:
                link.ensure(min(deadline, peer.down_since + LINK_BACK_SECONDS, now + LINK_BACK_SECONDS) - now)
                self._await_boot(deadline)
                next_send, linked = now, self._clock.now()
            elif now < next_send:
                with suppress(Empty):
                    self._clock.get(changes, min(next_send, until) - now)
            elif not payload:
                not_after = peer.clock.device_ms(deadline)
                if not_after is None and not peer.answers_no_pings:
                    if not self._probe.measure(min(1.0, deadline - now)):
                        # Without its latest moment, a call that is late on its way begins after its time-out.
                        link.send(HELLO)
                        now = self._clock.now()
                        continue
                    not_after = peer.clock.device_ms(deadline)
                if (now := self._clock.now()) >= deadline:
                    continue
                if message.op == "call" and message.not_after is None:
                    # A late copy is for no other boot: its clock began anew, and it knows no ids.
                    boot = peer.boots.current if link.brokered else None
                    message = message.model_copy(update={"not_after": not_after, "boot": boot})
                try:
                    payload = encode(message)
                except (ValueError, TypeError) as error:
                    text = f"the arguments of {name} have no JSON: {error}"
                    return Outcome(CallStatus.INVALID, code="arguments", message=text)
                stated = None if peer.status is None else peer.status.max_frame
                limit = link.default_max_frame if stated is None else stated
                if limit is not None and (size := len(payload) + link.frame_overhead) > limit:
                    text = f"{name} has {size} bytes on the wire; the device takes {limit}"
                    return Outcome(CallStatus.INVALID, code="too_long", message=text)
                if link.rig.halted and not halted and message.op == "call":
                    text = "the rig was stopped before the call was sent; reset it first"
                    return Outcome(CallStatus.REJECTED, code="estop", message=text)
                restarts = peer.clock.restarts
                link.send_call(payload, str(message.id), deadline - now)
                next_send = now + pause
            # It answers a ping before the call is sent again, if it answers any: it may have been reset.
            elif peer.answers_no_pings or self._probe.measure(min(self._retry_after, until - now)):
                if peer.clock.restarts != restarts:
                    continue
                link.send_call(payload, str(message.id), deadline - self._clock.now())
                pause = min(2 * pause, 4 * self._retry_after)
                next_send = self._clock.now() + pause
            elif not asked:
                asked = True
                link.check_permission()
            now = self._clock.now()

    def _await_boot(self, deadline: float) -> None:
        # Opening the port resets many boards, and a bootloader discards what comes before it ends.
        until = min(deadline, self._clock.now() + self._link.boot_seconds)
        while (left := until - self._clock.now()) > 0 and self._link.connected:
            if self._probe.hello(min(0.25, left)):
                return


STATUSES = frozenset(CallStatus) - {CallStatus.BLOCKED}
"""The statuses of a device's results; only the host's guard blocks."""


def fault(code: str, message: str) -> Outcome:
    """Return an error of the link as the outcome of a call."""
    return Outcome(CallStatus.FAULT, code=code, message=message)


def outcome_of(result: wire.Result) -> Outcome:
    """Return the outcome in a result; an unknown status is a fault, code `protocol`."""
    error = result.error or wire.ResultError()
    value = result.value
    if value is not None and not isinstance(value, dict):
        value = {"value": value}
    code, message = error.code or None, error.message or None
    if result.status not in STATUSES:
        status, code = CallStatus.FAULT, "protocol"
        message = f"the rig answered with the unknown status {result.status!r}"
    else:
        status = CallStatus(result.status)
        if status != CallStatus.OK:
            code, message = code or status, message or f"the rig gave no reason for {status}"
    return Outcome(status, value, code, message, result.t or 0.0, result.dur or 0.0, result.guard)
