"""The host's client: synchronous calls over a link; answers come in on whichever thread reads it."""

from __future__ import annotations

import contextlib
import functools
import math
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from core_eval.path.calls import CallStatus
from devices.device import Truth
from devices.outcome import Outcome
from devices.sensors import Sample
from devices.stop_outcome import StopOutcome
from firmware_bridge import messages as wire
from firmware_bridge.answers import fault, outcome_of
from firmware_bridge.codec import encode
from firmware_bridge.deferred_signals import DeferredSignals
from firmware_bridge.freeze_watch import FreezeWatch
from firmware_bridge.link import Link, LinkError, Tell, tell_terminal
from firmware_bridge.peer import Callbacks, ClockReading, Peer, Pending
from firmware_bridge.silence import no_answer, no_response

HELLO = encode(wire.Hello())
PING = encode(wire.Ping())
RESET = encode(wire.Reset())
OPEN_SECONDS = 5.0
"""How long a rig may take to answer hello."""
CLOSE_SECONDS = 2.0
"""How long a rig that is there may take to say that it is stopped, at the end."""
REGAIN_PERIOD = 0.1
"""Seconds between two tries to get a lost link back."""
LINK_BACK_SECONDS = 10.0
"""How long a link that was lost may stay away, before a call in flight is a fault and a run ends."""
OFFLINE_GRACE = 5.0
"""Seconds that a rig may be offline in mid-call before the call is a fault."""
ETA_GRACE = 2.0
"""Seconds beyond an ack's eta before the call is sent again."""
MAX_STRETCH = 10.0
"""An ack's eta stretches a call's deadline to this many timeouts at most."""
LEASE_BEAT = 2.0
"""Seconds between two renewals of a rig's lease, at most."""

Build = Callable[..., wire.Message]
"""Makes the message, given `not_after`: the latest moment of the device's link clock for it to start, ms."""


class RigClient:
    """Drives one rig over a link.

    Callbacks run one at a time on the thread that reads, which is one that waits in a call of ours or the
    link's own; they must not call back into the client. SIGINT and SIGTERM never strike within them.

    Trouble of the link never raises from `call` and `init`: it is an outcome with status `fault` and code
    `timeout` (no answer before the deadline), `link` (no link), `offline` (the rig said that it went),
    `device_reset` (it lost its memory in mid-call, so that a retry could run the call twice), `two_devices`
    (two answer under the one name), `protocol` (an unknown status) or `host_frozen` (this process stood still
    in mid-call). A call that is too long for the device's `max_frame` is `invalid`, code `too_long`.

    Args:
        link: an open link; the client closes it.
        on_sample, on_truth, on_status: take what the rig publishes.
        on_noted: takes something odd that the client found: a short word, and what it is.
        tell: takes a line for the person at the terminal.
        on_freeze: called after this process stood still, with the seconds, when the rig was told to stop.
        retry_after: seconds without an answer before a call is sent again, with the same id; then doubled.
    """

    def __init__(
        self,
        link: Link,
        *,
        on_sample: Callable[[Sample], None] | None = None,
        on_truth: Callable[[Truth], None] | None = None,
        on_status: Callable[[wire.Status], None] | None = None,
        on_noted: Callable[[str, Mapping[str, Any]], None] | None = None,
        tell: Tell = tell_terminal,
        on_freeze: Callable[[float], None] | None = None,
        retry_after: float = 1.0,
    ) -> None:
        self._link = link
        self._tell = tell
        self._peer = Peer(link.name, Callbacks(on_sample, on_truth, on_status, on_noted, self._greet))
        self._retry_after = retry_after
        self._one_call = threading.Lock()
        self._one_ping = threading.Lock()
        self._attached = False
        self._heart: threading.Thread | None = None
        self._closing = threading.Event()
        self._ending = "the link was closed"
        self._on_freeze = on_freeze
        self._freeze_watch = FreezeWatch(lambda: link.strikes, self._frozen)
        self._barred = False
        self.stop_error = ""
        """Why the last stop was not confirmed; one line."""

    def __enter__(self) -> RigClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def status(self) -> wire.Status | None:
        """The rig's last status."""
        return self._peer.status

    @property
    def dropped(self) -> int:
        """Frames that did not check, were no message, or contradicted the answer that a call has."""
        return self._peer.unfit + self._peer.contradictions + self._link.dropped

    @property
    def conflict(self) -> str | None:
        """Why this rig must not be driven: two devices answer under its name; one line."""
        return self._peer.conflict

    @property
    def confirms_stop(self) -> bool:
        """Whether the rig can tell that it is stopped: not where its driver knows no such question."""
        return self._link.confirms_stop

    @property
    def late_stop_seconds(self) -> float:
        """After `close`: how long a second process tries to send the stop that we could not send."""
        return self._link.late_stop_seconds

    def open(self, timeout: float | None = None, *, claim: bool = True) -> wire.Status:
        """Say hello until the rig answers, and take it for this host alone unless `claim` is False.

        The timeout is 5 s, or longer where the rig's URL says that its board boots for longer.

        Raises:
            LinkError: no response within `timeout` seconds, two devices answer, or another host drives the
                rig.
        """
        peer = self._peer
        if timeout is None:
            timeout = max(OPEN_SECONDS, self._link.boot_seconds)
        deadline = time.monotonic() + timeout
        self._attach()
        while (status := peer.present) is None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise LinkError(no_response(self._link, peer, timeout))
            self._link.ensure(left)
            if not self._hello(min(0.5, left)) and peer.status is not None:
                # Only the broker's retained status: believe it where the rig gives another sign of life.
                self._measure(min(0.5, left))
        for _ in range(3):
            if not self._measure(0.5):
                break
        if peer.conflict is not None:
            # Another host may be at work with one of them.
            self._barred = True
            raise LinkError(peer.conflict)
        if claim:
            self._barred = True
            self._link.claim(timeout, self._tell)
            self._barred = False
        self._start_heartbeat()
        if claim and not self._link.stands_still_with_us:
            self._freeze_watch.start()
        return status

    def claim(self, timeout: float = OPEN_SECONDS) -> bool:
        """Take an opened rig for this host alone; whether the link keeps such a claim.

        Raises:
            LinkError: another host drives the rig; the text names it, and since when.
        """
        return self._link.claim(timeout, self._tell)

    def init(self, state: Mapping[str, Any], seed: int, timeout: float = 10.0) -> Outcome:
        """Back to the initial state with these overrides (simulators); code `no_answer` if none comes."""
        self._peer.init_id = message_id = secrets.token_hex(6)

        def build(**_: object) -> wire.Init:
            return wire.Init(id=message_id, state=dict(state), seed=seed)

        return self._run(message_id, build, "init", timeout, "no_answer")

    def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        call_id: str | None = None,
        timeout: float = 120.0,
        within: float = math.inf,
    ) -> Outcome:
        """Run a tool and wait for its result; sent again with the same id where no answer comes.

        An ack of a rig that is at work stretches `timeout`, and does not stretch `within`, s. A call during
        which this process stood still is a fault, code `host_frozen`, whatever came of it: the rig was
        stopped, or has gone on for longer than was meant. It stays stopped until a reset.
        """
        before = self._freeze_watch.freezes()
        message_id = call_id or secrets.token_hex(6)
        build = functools.partial(wire.Call, id=message_id, tool=tool, args=dict(arguments))
        outcome = self._run(message_id, build, tool, timeout, "timeout", within)
        if self._freeze_watch.freezes() != before:
            text = (
                f"this program stood still while {tool} ran, and stopped the rig; how far it got is not known"
            )
            return fault("host_frozen", text)
        return outcome

    def give_up(self, within: float) -> None:
        """Wait for the answer to the call in flight, if there is one, `within` s at most. From any thread."""
        with self._peer.changed:
            if self._peer.pending is not None:
                self._peer.pending.give_up_at = min(self._peer.pending.give_up_at, time.monotonic() + within)
            self._peer.notify()
        self._link.interrupt()

    def estop(self, timeout: float = 1.0) -> StopOutcome:
        """Stop the rig at once, and tell how that went; works during a call, and never raises LinkError.

        `CONFIRMED` once the rig says that it is stopped, `SENT` where it does not within `timeout`, and
        `NOT_SENT` where the link is down, so that only the rig's own watchdog can stop it. Unanswered, the
        stop is sent again and again: a line may lose it. `stop_error` tells why it is not confirmed.
        """
        heard: list[wire.Status] = []

        def says_stopped(status: wire.Status) -> bool:
            if status.state == "estop":
                heard[:] = [status]
            return bool(heard)

        seen = self._statuses()
        sent = False
        deadline = time.monotonic() + timeout
        try:
            while True:
                self._link.estop()
                if not sent:
                    # A driver asks its machine before this returns.
                    sent, deadline = True, time.monotonic() + timeout
                left = deadline - time.monotonic()
                if self._hello_since(seen, max(0.0, min(0.5, left)), says_stopped):
                    return self._stop_said(heard[0])
                if left <= 0.5:
                    break
        except LinkError as error:
            self.stop_error = str(error)
            return StopOutcome.SENT if sent else StopOutcome.NOT_SENT
        self.stop_error = f"{self._link.name} did not say within {timeout:g} s that it is stopped"
        return StopOutcome.SENT

    def _stop_said(self, status: wire.Status) -> StopOutcome:
        # A status may still tell of the stop before; a link that asked the machine itself knows better.
        outcome = self._link.stop_outcome(status.stop)
        if outcome is None:
            outcome = StopOutcome.CONFIRMED
        said = {
            StopOutcome.CONFIRMED: "",
            StopOutcome.SENT: f"{self._link.name} did not answer whether it is stopped"
            if self.confirms_stop
            else "its driver knows no question that would tell",
            StopOutcome.NOT_SENT: f"{self._link.name} is gone; is the cable in?",
        }
        self.stop_error = said[outcome]
        return outcome

    def reset(self, timeout: float = 1.0) -> bool:
        """Leave the stop; whether the rig said within `timeout` that it is online.

        Raises:
            LinkError: the link is down.
        """
        seen = self._statuses()
        self._link.send(RESET)
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0:
            # Said again and again, so that a rig that tells nothing of its own accord tells its state.
            if self._hello_since(seen, min(0.5, left), lambda status: status.state == "online"):
                return True
        return False

    def read_clock(self, timeout: float = 2.0) -> ClockReading | None:
        """Ping, and tell what that says of the device's clock; None where its pong states no time.

        Raises:
            LinkError: no answer, or the link is down.
        """
        self._peer.reading = None
        self.ping(timeout)
        return self._peer.reading

    def call_late(self, tool: str, arguments: Mapping[str, Any], timeout: float = 5.0) -> Outcome | None:
        """Send a call whose time is over: a device that keeps deadlines answers `late`, and does nothing.

        None where the device's clock is not known, so that no deadline can be given.
        """
        now = self._peer.clock.device_ms(time.monotonic())
        if now is None:
            return None
        message_id = secrets.token_hex(6)

        def build(**_: object) -> wire.Call:
            return wire.Call(id=message_id, tool=tool, args=dict(arguments), not_after=now - 1000)

        return self._run(message_id, build, tool, timeout, "timeout")

    def ping(self, timeout: float = 2.0) -> float:
        """The round trip in seconds; measures the device's clock on the way.

        Raises:
            LinkError: no answer, or the link is down.
        """
        with self._one_ping:
            with self._peer.changed:
                self._peer.pong = None
            sent = time.monotonic()
            self._link.send(PING)
            self._wait(lambda: self._peer.pong is not None, timeout)
            trip = self._peer.pinged(sent)
        if trip is None:
            raise LinkError(f"no pong from {self._link.name} within {timeout:.2g} s")
        return trip

    def drain(self, timeout: float = 2.0) -> bool:
        """Wait until all samples and truth that the rig has sent so far were delivered; whether they were.

        A ping goes through behind them. A rig that knows no ping has to be silent for 0.2 s instead.
        """
        if self._peer.pongs:
            return self._measure(timeout)
        deadline = time.monotonic() + timeout
        while (quiet := time.monotonic() - self._peer.last_heard) < 0.2:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.2 - quiet)
        return True

    def close(self, safe: bool = True) -> StopOutcome | None:
        """End the link, after a stop when `safe`, and tell how that went; None without one. Never raises."""
        if self._closing.is_set():
            return None
        self._freeze_watch.close()
        stop = None
        if safe and not self._barred and self._attached:
            # Nobody there, nobody to wait for; the stop goes out all the same.
            stop = self.estop(timeout=0.0 if self._peer.present is None else CLOSE_SECONDS)
        self._closing.set()
        self._link.close()
        with self._peer.changed:
            self._peer.notify()
        return stop

    def abandon(self, why: str) -> None:
        """The rig is known to be gone for good: every call, the one in flight too, is a fault that says why.

        From any thread. Nothing can stop the rig any more, nor is there one.
        """
        self._ending = why
        self._closing.set()
        with self._peer.changed:
            self._peer.notify()
        self._link.interrupt()
        self._link.close()

    def regain(self, timeout: float) -> None:
        """Wait until the link is back and the rig answers, after trouble in mid-run.

        Raises:
            LinkError: the link is down since `timeout` seconds, or the rig silent for so long, or two devices
                answer.
        """
        deadline = self._lost_at(time.monotonic()) + timeout
        while True:
            if self._peer.conflict is not None:
                raise LinkError(self._peer.conflict)
            if self._closing.is_set():
                raise LinkError(self._ending)
            left = deadline - time.monotonic()
            try:
                self._link.ensure(max(0.0, left))
                self.ping(min(2.0, max(0.1, left)))
                return
            except LinkError as error:
                if time.monotonic() >= deadline:
                    raise LinkError(f"{error}, and it was waited for {timeout:g} s") from None
            time.sleep(REGAIN_PERIOD)

    def _run(
        self,
        message_id: wire.MessageId,
        build: Build,
        what: str,
        timeout: float,
        unanswered: str,
        within: float = math.inf,
    ) -> Outcome:
        """One message until its answer; trouble of the link is a fault, silence one with code `unanswered`.

        It is sent again with the same id. Acks stretch `timeout`, not `within`.
        """
        with self._one_call, DeferredSignals() if self._link.holds_signals else contextlib.nullcontext():
            pending = Pending(message_id, time.monotonic() + within)
            self._peer.pending = pending
            try:
                return self._until_answered(pending, build, what, timeout, unanswered)
            except LinkError as error:
                if self._closing.is_set():
                    return fault("link", self._ending)
                self._link.discard()
                return fault("link", str(error))
            finally:
                self._peer.pending = None

    def _until_answered(
        self, pending: Pending, build: Build, what: str, timeout: float, unanswered: str
    ) -> Outcome:
        peer, link = self._peer, self._link
        start = now = next_send = time.monotonic()
        deadline = start + timeout
        pause = self._retry_after
        payload = b""
        restarts, asked = peer.clock.restarts, False
        while True:
            # First of all, so that no news between here and the wait is missed.
            seen = peer.news
            if peer.conflict is not None:
                return fault("two_devices", peer.conflict)
            if pending.result is not None:
                return outcome_of(pending.result)
            if pending.acks:
                stretched = min(pending.acked_until + ETA_GRACE, start + MAX_STRETCH * timeout)
                deadline = max(deadline, stretched)
                next_send = max(next_send, pending.acked_until + ETA_GRACE)
            deadline = min(deadline, pending.give_up_at)
            if self._closing.is_set():
                return fault("link", self._ending)
            if now >= pending.give_up_at:
                text = f"the rig {link.name} was not waited for any longer after {now - start:.1f} s"
                return fault(unanswered, text)
            if now >= deadline:
                return fault(unanswered, no_answer(link, peer, what, timeout))
            if peer.offline_since is not None and now - peer.offline_since > OFFLINE_GRACE:
                return fault("offline", f"the rig {link.name} went offline")
            if payload and peer.clock.restarts != restarts:
                text = f"the device was reset while {what} ran; whether it was done is not known"
                return fault("device_reset", text)
            if not link.connected:
                link.ensure(min(deadline, self._lost_at(now) + LINK_BACK_SECONDS) - now)
                self._await_boot(deadline)
                next_send = now
            elif now < next_send:
                wait = min(next_send, deadline) - now
                link.read_until(lambda: peer.news != seen, wait, peer.changed)  # noqa: B023
            elif not payload:
                not_after = peer.clock.device_ms(deadline)
                if not_after is None and peer.pongs and self._measure(min(1.0, deadline - now)):
                    not_after = peer.clock.device_ms(deadline)
                try:
                    payload = encode(build(not_after=not_after))
                except (ValueError, TypeError) as error:
                    text = f"the arguments of {what} have no JSON: {error}"
                    return Outcome(CallStatus.INVALID, code="arguments", message=text)
                stated = None if peer.status is None else peer.status.max_frame
                limit = link.default_max_frame if stated is None else stated
                if limit is not None and (size := len(payload) + link.frame_overhead) > limit:
                    text = f"{what} has {size} bytes on the wire; the device takes {limit}"
                    return Outcome(CallStatus.INVALID, code="too_long", message=text)
                restarts = peer.clock.restarts
                link.send_call(payload, str(pending.id), deadline - now)
                next_send = now + pause
            # A rig that knows ping answers one before it gets a call again, which also shows a reset.
            elif not peer.pongs or self._measure(min(self._retry_after, deadline - now)):
                if peer.clock.restarts != restarts:
                    continue
                link.send_call(payload, str(pending.id), deadline - time.monotonic())
                pause = min(2 * pause, 4 * self._retry_after)
                next_send = time.monotonic() + pause
            elif not asked:
                asked = True
                link.check_permission()
            now = time.monotonic()

    def _await_boot(self, deadline: float) -> None:
        # Opening its port resets many a board: what is sent before it answers is lost in its bootloader.
        until = min(deadline, time.monotonic() + self._link.boot_seconds)
        while (left := until - time.monotonic()) > 0 and self._link.connected:
            if self._hello(min(0.25, left)):
                return

    def _lost_at(self, now: float) -> float:
        """When the link was lost that is down now; `now` where it is up."""
        return now if self._link.connected else min(now, self._peer.down_since)

    def _attach(self) -> None:
        """Start taking messages."""
        if not self._attached:
            self._attached = True
            self._link.attach(self._peer.take, self._link_changed)

    def _link_changed(self, up: bool) -> None:
        self._peer.link_changed(up)
        if up:
            self._greet()

    def _greet(self) -> None:
        # Whoever is there says so: one device that was started anew, or the one from before as well.
        with contextlib.suppress(LinkError):
            self._link.send(HELLO)

    def _statuses(self) -> int:
        with self._peer.changed:
            return self._peer.status_count

    def _hello(self, timeout: float) -> bool:
        """Say hello; whether a live status came. Raises LinkError."""
        return self._hello_since(self._statuses(), timeout, lambda status: True)

    def _hello_since(self, seen: int, timeout: float, until: Callable[[wire.Status], bool]) -> bool:
        """Say hello; whether, after the `seen`th, a status came for which `until` holds. Raises LinkError."""
        peer = self._peer
        self._link.send(HELLO)
        return self._wait(
            lambda: peer.status_count > seen and peer.status is not None and until(peer.status), timeout
        )

    def _measure(self, timeout: float) -> bool:
        """Ping until the clock is measured anew; whether the rig answered."""
        try:
            for _ in range(2 if self._peer.ping_missed else 1):
                self.ping(timeout)
        except LinkError:
            return False
        return True

    def _wait(self, done: Callable[[], bool], timeout: float) -> bool:
        """Wait until `done()`, at most `timeout` seconds; whether it is. It is called at every news."""
        self._link.read_until(done, timeout, self._peer.changed)
        return done()

    def _start_heartbeat(self) -> None:
        """A ping every third of the device's watchdog time, or every second."""
        if self._heart is None:
            name = f"heartbeat {self._link.name}"
            self._heart = threading.Thread(target=self._beat, name=name, daemon=True)
            self._heart.start()

    def _beat(self) -> None:
        spent = 0.0
        while True:
            watchdog = self._peer.status.watchdog_ms if self._peer.status is not None else None
            period = max(0.02, watchdog / 3000) if watchdog else 1.0
            if self._link.brokered:
                period = min(period, LEASE_BEAT)
            if self._closing.wait(max(0.0, period - spent)):
                return
            began = time.monotonic()
            self._link.renew()
            if self._link.connected:
                with contextlib.suppress(LinkError):
                    self.ping(period)
            spent = time.monotonic() - began

    def _frozen(self, seconds: float) -> None:
        with contextlib.suppress(LinkError):
            self._link.estop()
        if self._on_freeze is not None:
            self._on_freeze(seconds)
