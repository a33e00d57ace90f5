"""The host's client: synchronous calls over a link, whose own thread reads the answers."""

from __future__ import annotations

import contextlib
import math
import secrets
from collections.abc import Callable, Mapping
from typing import Any

from devices.outcome import Outcome, StopOutcome
from devices.rig_motion import Event
from devices.sensors import Sample, Truth
from firmware_bridge import messages as wire
from firmware_bridge.clock import MONOTONIC, Clock
from firmware_bridge.emergency_stop import EmergencyStop
from firmware_bridge.freeze_watch import FreezeWatch
from firmware_bridge.guard_loader import GuardLoader
from firmware_bridge.heartbeat import Heartbeat
from firmware_bridge.link import Link, LinkError, LinkGoneError, OnNoted, Tell, tell_terminal
from firmware_bridge.peer import Callbacks, ClockReading, Peer
from firmware_bridge.probe import HELLO, Probe, no_response
from firmware_bridge.requests import Requests, fault

OPEN_SECONDS = 5.0
"""Time in which a rig must answer hello."""
CLOSE_SECONDS = 2.0
"""Time in which a rig that is present must confirm the stop at the end."""
REGAIN_PERIOD = 0.1
"""Seconds between two attempts to restore a lost link."""


class RigClient:
    """Drives one rig over a link.

    Callbacks run one at a time on the link's own thread, and must not call the client. A signal handler may
    raise during any call.

    An error of the link is no exception of `call` and `init`, but an outcome with status `fault` and code
    `timeout` (no answer before the deadline, or not a word for 10 s from a rig that answers pings), `link`
    (no link), `offline` (the rig reported it),
    `device_reset` (the device lost its memory during the call, so that a retry could run it twice),
    `two_devices` (two devices answer under the rig's name), `protocol` (an unknown status) or `host_frozen`
    (this process stood still during the call). A call that is too long for the device's `max_frame` is
    `invalid`, code `too_long`.

    Args:
        link: an open link; the client closes it.
        on_sample, on_truth, on_status: receive what the rig publishes.
        on_noted: receives an anomaly that the client found: a short name, and its details.
        tell: receives a line for the person at the terminal.
        on_freeze: called after this process stood still, with the seconds, once the rig was stopped.
        retry_after: seconds without an answer before a call is sent again, with the same id; then doubled.
        clock: of all its waits, but that of the freeze watch.

    Attributes:
        rig: what is known of whether the rig moves.
        peer: what its messages say.
        guard: loads the guard on the device's chip.
    """

    def __init__(
        self,
        link: Link,
        *,
        on_sample: Callable[[Sample], None] | None = None,
        on_truth: Callable[[Truth], None] | None = None,
        on_status: Callable[[wire.Status], None] | None = None,
        on_noted: OnNoted | None = None,
        tell: Tell = tell_terminal,
        on_freeze: Callable[[float], None] | None = None,
        retry_after: float = 1.0,
        clock: Clock = MONOTONIC,
    ) -> None:
        self._link, self.rig = link, link.rig
        self._tell = tell
        self._on_freeze, self._on_noted = on_freeze, on_noted
        if link.keeper is not None:
            link.keeper.on_noted = on_noted
        self._clock = clock
        callbacks = Callbacks(on_sample, on_truth, on_status, on_noted, self._greet)
        self.peer = Peer(link.name, callbacks, clock)
        self._probe = Probe(link, self.peer)
        self.guard = GuardLoader(link, self.peer, self._probe)
        self._requests = Requests(link, self.peer, self._probe, retry_after)
        self._stop = EmergencyStop(link, self.peer, self._probe, clock)
        self._heartbeat = Heartbeat(link, self.peer, self._probe, clock)
        self._freeze_watch = FreezeWatch(link.keeper, self._frozen)
        self._attached = self._barred = self._is_down = False

    def __enter__(self) -> RigClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def status(self) -> wire.Status | None:
        """The rig's last status."""
        return self.peer.status

    @property
    def dropped(self) -> int:
        """Frames with a wrong checksum, without a message, or with a second, different result of a call."""
        return self.peer.unfit + self.peer.contradictions + self._link.dropped

    @property
    def stop_error(self) -> str:
        """Why the last stop was not confirmed; one line."""
        return self._stop.error

    @property
    def confirms_stop(self) -> bool:
        """Whether the rig can confirm a stop; a driver's machine may have no such query."""
        return self._link.confirms_stop

    @property
    def late_stop_seconds(self) -> float:
        """After `close`: how long a second process tries to send the stop that this one could not send."""
        return 0.0 if self._link.keeper is None else self._link.keeper.late_stop_seconds

    def open(self, timeout: float | None = None, *, claim: bool = True) -> wire.Status:
        """Send hello until the rig answers, acquire its lease unless `claim` is False, and return its status.

        The timeout is 5 s, or longer where the rig's URL states a longer boot.

        Raises:
            LinkError: no response within `timeout` seconds, two devices answer, or another host drives the
                rig.
        """
        peer = self.peer
        if timeout is None:
            timeout = max(OPEN_SECONDS, self._link.boot_seconds)
        deadline = self._clock.now() + timeout
        self._attach()
        while (status := peer.present) is None:
            left = deadline - self._clock.now()
            if left <= 0:
                raise LinkError(no_response(self._link, peer, timeout))
            self._link.ensure(left)
            if not self._probe.hello(min(0.5, left)) and peer.status is not None:
                # Only the broker's retained status: accept it if the rig answers a ping.
                self._probe.measure(min(0.5, left))
        for _ in range(3):
            if not self._probe.measure(0.5) and peer.pongs:
                break
        # Until the rig is known to be ours, closing must not stop it: another host may be driving it.
        self._barred = claim or peer.conflict is not None
        if peer.conflict is not None:
            raise LinkError(peer.conflict)
        if claim:
            self._link.claim(timeout, self._tell)
            self._barred = False
        self._heartbeat.start()
        if claim and not self._link.stands_still_with_us:
            self._freeze_watch.start()
        return status

    def claim(self, timeout: float = OPEN_SECONDS) -> bool:
        """Acquire the lease of an opened rig, and return whether the link keeps leases.

        Raises:
            LinkError: another host drives the rig; the text names it, and since when.
        """
        return self._link.claim(timeout, self._tell)

    def init(self, state: Mapping[str, Any], seed: int, timeout: float = 10.0) -> Outcome:
        """Set a simulator's initial state with these overrides; the code is `no_answer` without an answer."""
        message = wire.Init.model_construct(id=secrets.token_hex(6), state=dict(state), seed=seed)
        self.peer.init_id = message.id
        return self._requests.run(message, timeout)

    def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        call_id: str | None = None,
        timeout: float = 120.0,
        within: float = math.inf,
        to_stopped: bool = True,
    ) -> Outcome:
        """Run a tool and return its outcome; the call is sent again with the same id until it is answered.

        An ack of a rig at work extends `timeout`, but not `within` (s). A call during which this process
        stood still is a fault, code `host_frozen`, whatever its result: the rig was stopped, or has gone on
        for longer than intended. It stays stopped until a reset: a call to a rig that this host has stopped
        is `rejected`, code `estop`, or with `to_stopped` sent where the stop came before it.
        """
        self.rig.on(Event.DRIVE)
        before = self._freeze_watch.freezes()
        message = wire.Call.model_construct(
            id=call_id or secrets.token_hex(6), tool=tool, args=dict(arguments)
        )
        outcome = self._requests.run(message, timeout, within, to_stopped=to_stopped)
        if self._freeze_watch.freezes() != before:
            text = (
                f"this program stood still while {tool} ran, and stopped the rig; how far it got is not known"
            )
            return fault("host_frozen", text)
        return outcome

    def call_late(self, tool: str, arguments: Mapping[str, Any], timeout: float = 5.0) -> Outcome | None:
        """Send a call whose `not_after` is past: a device that checks it answers `late` and does nothing.

        Return None if the device's clock is not known, so that no `not_after` can be given.
        """
        now = self.peer.clock.device_ms(self._clock.now())
        if now is None:
            return None
        message = wire.Call.model_construct(
            id=secrets.token_hex(6), tool=tool, args=dict(arguments), not_after=now - 1000
        )
        return self._requests.run(message, timeout)

    def give_up(self, within: float) -> None:
        """Wait at most `within` more seconds for the call in flight, if there is one. From any thread."""
        self._requests.give_up(within)

    def estop(self, timeout: float = 1.0) -> StopOutcome:
        """Stop the rig at once and return how that went. During a call too, from any thread; never raises.

        The outcome is `CONFIRMED` once the rig reports that it is stopped, `SENT` if it does not within
        `timeout` seconds, and `NOT_SENT` if the link is down, so that only the rig's own watchdog can stop
        it. The stop is sent again until it is confirmed. `stop_error` states why it is not.
        """
        return self._stop.stop(timeout)

    def reset(self, timeout: float = 1.0, *, stop_input: bool = False) -> bool:
        """Leave the stop and return whether the rig was online within `timeout` seconds.

        A rig whose stop input was pressed stays stopped, unless it is released and a person has this called
        with `stop_input`.

        Raises:
            LinkError: the link is down.
        """
        return self._stop.reset(timeout, stop_input=stop_input)

    def ping(self, timeout: float = 2.0) -> float:
        """Measure the device's clock and return the round trip in seconds.

        Raises:
            LinkError: no answer, or the link is down.
        """
        return self._probe.ping(timeout)

    def read_clock(self) -> ClockReading | None:
        """Ping and return the reading of the device's clock; None if its pong states no time.

        Raises:
            LinkError: no answer, or the link is down.
        """
        self.peer.reading = None
        self._probe.ping(1.0)
        return self.peer.reading

    def drain(self, timeout: float = 2.0) -> bool:
        """Wait until all samples and truth that the rig has sent are delivered, and return whether they are.

        A pong arrives after them. Of a rig without ping, no message must arrive for 0.2 s instead.
        """
        if self.peer.pongs:
            return self._probe.measure(timeout)
        deadline = self._clock.now() + timeout
        while (quiet := self._clock.now() - self.peer.last_heard) < 0.2:
            if self._clock.now() >= deadline:
                return False
            self._clock.sleep(0.2 - quiet)
        return True

    def regain(self, timeout: float) -> None:
        """Wait until the link is restored and the rig answers, after an error during a run.

        Raises:
            LinkError: the link has been down or the rig silent for `timeout` seconds, or two devices answer.
        """
        lost_at = self._clock.now()
        if not self._link.connected:
            lost_at = min(lost_at, self.peer.down_since)
        elif self.peer.pongs:
            lost_at = min(lost_at, self.peer.last_heard)
        deadline = lost_at + timeout
        while True:
            if self.peer.conflict is not None:
                raise LinkError(self.peer.conflict)
            if self._requests.ended is not None:
                raise LinkError(self._requests.ended)
            left = deadline - self._clock.now()
            try:
                self._link.ensure(max(0.0, left))
                self._probe.ping(min(2.0, max(0.1, left)))
                return
            except LinkGoneError:
                raise
            except LinkError as error:
                if self._clock.now() >= deadline:
                    raise LinkError(f"{error}; waited {timeout:g} s") from None
            self._clock.sleep(REGAIN_PERIOD)

    def close(self, safe: bool = True) -> StopOutcome | None:
        """Close the link, after a stop if `safe`, and return how the stop went. Never raises."""
        if self._requests.ended is not None:
            return None
        self._freeze_watch.close()
        stop = None
        if safe and not self._barred and self._attached:
            # The stop is sent to an absent rig too, but its confirmation is not awaited.
            stop = self.estop(timeout=0.0 if self.peer.present is None else CLOSE_SECONDS)
        self.abandon("the link was closed")
        return stop

    def abandon(self, reason: str) -> None:
        """Close the link to a rig that no longer exists; all calls are faults with this reason.

        May be called from any thread. No stop is sent.
        """
        self._freeze_watch.close()
        self._requests.end(reason)
        self._heartbeat.close()
        self._link.close()

    def _attach(self) -> None:
        if not self._attached:
            self._attached = True
            self._link.attach(self.peer.take, self._link_changed)

    def _link_changed(self, up: bool) -> None:
        down_since, was_down = self.peer.down_since, self._is_down
        self._is_down = not up
        self.rig.on(Event.FIND if up else Event.LOSE)
        self.peer.link_changed(up)
        if self._on_noted is not None and up is was_down:
            seconds = round(self._clock.now() - down_since, 3)
            self._on_noted("link back" if up else "link lost", {"seconds": seconds} if up else {})
        if up:
            self._greet()

    def _greet(self) -> None:
        # The device that is present answers with its status, whether it was restarted or not.
        with contextlib.suppress(LinkError):
            self._link.send(HELLO)

    def _frozen(self, seconds: float) -> None:
        # Sent again until it is confirmed, for less time than what counts as a freeze.
        self._stop.stop(CLOSE_SECONDS)
        if self._on_freeze is not None:
            self._on_freeze(seconds)
