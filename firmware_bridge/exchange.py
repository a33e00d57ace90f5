"""One message to a rig until its answer: sent again with the same id, with a deadline that acks stretch."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from core_eval.path.calls import CallStatus
from devices.outcome import Outcome
from firmware_bridge import messages as wire
from firmware_bridge.answers import fault, outcome_of
from firmware_bridge.codec import encode
from firmware_bridge.held_signals import HeldSignals
from firmware_bridge.link import BrokeredLink, Link, LinkError, ReadByWaiters
from firmware_bridge.session import Pending, RigSession

LINK_BACK_SECONDS = 10.0
"""How long a link that was lost may stay away, before a call in flight is a fault and a run ends."""
OFFLINE_GRACE = 5.0
"""Seconds that a rig may be offline in mid-call before the call is a fault."""
ETA_GRACE = 2.0
"""Seconds beyond an ack's eta before the call is sent again."""
MAX_STRETCH = 10.0
"""An ack's eta stretches a call's deadline to this many timeouts at most."""

Build = Callable[[int | None], wire.Message]


class Exchange:
    """Runs one exchange at a time over a link.

    Args:
        link: an open link.
        session: what is known of the rig, and where its answers come in.
        retry_after: seconds without an answer before a message is sent again; then doubled.
    """

    def __init__(self, link: Link, session: RigSession, retry_after: float) -> None:
        self._link = link
        self._session = session
        self._retry_after = retry_after
        self._one_call = threading.Lock()
        self._brokered = link if isinstance(link, BrokeredLink) else None
        # A call that reads its answer itself must not be torn while it reads.
        self._signals: Callable[[], AbstractContextManager[object]] = (
            HeldSignals if isinstance(link, ReadByWaiters) else nullcontext
        )

    def run(
        self,
        message_id: wire.MessageId,
        build: Build,
        what: str,
        timeout: float,
        unanswered: str,
        within: float = math.inf,
    ) -> Outcome:
        """One message until its answer; trouble of the link is a fault, silence one with code `unanswered`.

        `build` makes the message, given the latest moment of the device's link clock at which it may start.
        Acks stretch `timeout`, not `within`.
        """
        with self._one_call, self._signals():
            pending = Pending(message_id, time.monotonic() + within)
            self._session.pending = pending
            try:
                return self._until_answered(pending, build, what, timeout, unanswered)
            except LinkError as error:
                if self._session.closing.is_set():
                    return fault("link", self._session.ending)
                self._link.discard()
                return fault("link", str(error))
            finally:
                self._session.pending = None

    def _until_answered(
        self, pending: Pending, build: Build, what: str, timeout: float, unanswered: str
    ) -> Outcome:
        session = self._session
        start = now = next_send = time.monotonic()
        deadline = start + timeout
        pause = self._retry_after
        payload = b""
        restarts, asked = session.clock.restarts, False
        while True:
            # First of all, so that no news between here and the wait is missed.
            seen = session.news
            if session.conflict is not None:
                return fault("two_devices", session.conflict)
            if pending.result is not None:
                return outcome_of(pending.result)
            if pending.acks:
                stretched = min(pending.acked_until + ETA_GRACE, start + MAX_STRETCH * timeout)
                deadline = max(deadline, stretched)
                next_send = max(next_send, pending.acked_until + ETA_GRACE)
            deadline = min(deadline, pending.give_up_at)
            if session.closing.is_set():
                return fault("link", session.ending)
            if now >= pending.give_up_at:
                text = f"the rig {self._link.name} was not waited for any longer after {now - start:.1f} s"
                return fault(unanswered, text)
            if now >= deadline:
                return fault(unanswered, self._unanswered(what, timeout))
            if session.offline_since is not None and now - session.offline_since > OFFLINE_GRACE:
                return fault("offline", f"the rig {self._link.name} went offline")
            if payload and session.clock.restarts != restarts:
                text = f"the device was reset while {what} ran; whether it was done is not known"
                return fault("device_reset", text)
            if not self._link.connected:
                self._link.ensure(min(deadline, session.lost_at(now) + LINK_BACK_SECONDS) - now)
                self._await_boot(deadline)
                next_send = now
            elif now < next_send:
                session.wait_for_news(seen, min(next_send, deadline) - now)
            elif not payload:
                if session.pongs and not session.clock.known:
                    session.measure(min(1.0, deadline - now))
                try:
                    payload = encode(build(session.clock.device_ms(deadline)))
                except (ValueError, TypeError) as error:
                    text = f"the arguments of {what} have no JSON: {error}"
                    return Outcome(CallStatus.INVALID, code="arguments", message=text)
                size = len(payload) + self._link.frame_overhead
                if (limit := self._max_frame()) is not None and size > limit:
                    text = f"{what} has {size} bytes on the wire; the device takes {limit}"
                    return Outcome(CallStatus.INVALID, code="too_long", message=text)
                restarts = session.clock.restarts
                self._send(payload, message_id=pending.id, seconds=deadline - now)
                next_send = now + pause
            # A rig that knows ping answers one before it gets a call again, which also shows a reset.
            elif not session.pongs or session.measure(min(self._retry_after, deadline - now)):
                if session.clock.restarts != restarts:
                    continue
                self._send(payload, message_id=pending.id, seconds=deadline - time.monotonic())
                pause = min(2 * pause, 4 * self._retry_after)
                next_send = time.monotonic() + pause
            elif self._brokered is not None and not asked:
                asked = True
                self._brokered.check_permission()
            now = time.monotonic()

    def _await_boot(self, deadline: float) -> None:
        # Opening its port resets many a board: what is sent before it answers is lost in its bootloader.
        boot: float = getattr(self._link, "boot_seconds", 0.0)
        until = min(deadline, time.monotonic() + boot)
        while (left := until - time.monotonic()) > 0 and self._link.connected:
            if self._session.hello(min(0.25, left)):
                return

    def _send(self, payload: bytes, *, message_id: wire.MessageId, seconds: float) -> None:
        if self._brokered is None:
            self._link.send(payload)
        else:
            self._brokered.send_call(payload, str(message_id), seconds)

    def _unanswered(self, what: str, timeout: float) -> str:
        # A broker of 3.1.1 acknowledges what its access list drops.
        silent = self._brokered is not None and time.monotonic() - self._session.last_heard > timeout
        hint = ", and nothing else: does the broker's access list drop our calls?" if silent else ""
        return f"the rig {self._link.name} did not answer {what} in {timeout:g} s{hint}"

    def _max_frame(self) -> int | None:
        status = self._session.status
        stated = status.max_frame if status is not None else None
        return stated if stated is not None else self._link.default_max_frame
