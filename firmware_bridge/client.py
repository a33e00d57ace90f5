"""The host's client: synchronous calls above, whoever reads the link below."""

from __future__ import annotations

import contextlib
import math
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any

from devices.device import Truth
from devices.outcome import Outcome
from devices.sensors import Sample
from devices.stop_outcome import StopOutcome
from firmware_bridge import messages as wire
from firmware_bridge.answers import fault
from firmware_bridge.codec import encode
from firmware_bridge.exchange import Exchange
from firmware_bridge.freeze_watch import FreezeWatch
from firmware_bridge.link import (
    BrokeredLink,
    HandsOnStop,
    KeptLink,
    Link,
    LinkError,
    Tell,
    tell_terminal,
)
from firmware_bridge.session import Callbacks, ClockReading, RigSession

OPEN_SECONDS = 5.0
"""How long a rig may take to answer hello."""
CLOSE_SECONDS = 2.0
"""How long a rig that is there may take to say that it is stopped, at the end."""
REGAIN_PERIOD = 0.1
"""Seconds between two tries to get a lost link back."""


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
        self._session = RigSession(link, Callbacks(on_sample, on_truth, on_status, on_noted))
        self._brokered = link if isinstance(link, BrokeredLink) else None
        self._exchange = Exchange(link, self._session, retry_after)
        self._on_freeze = on_freeze
        with_us: bool = getattr(link, "stands_still_with_us", False)
        self._freeze_watch = None if with_us else FreezeWatch(self._strikes, self._frozen)
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
        return self._session.status

    @property
    def dropped(self) -> int:
        """Frames that did not check, were no message, or contradicted the answer that a call has."""
        return self._session.dropped

    @property
    def conflict(self) -> str | None:
        """Why this rig must not be driven: two devices answer under its name; one line."""
        return self._session.conflict

    @property
    def confirms_stop(self) -> bool:
        """Whether the rig can tell that it is stopped: not where its driver knows no such question."""
        return self._link.confirms_stop if isinstance(self._link, HandsOnStop) else True

    @property
    def late_stop_seconds(self) -> float:
        """After `close`: how long a second process tries to send the stop that we could not send."""
        return self._link.late_stop_seconds if isinstance(self._link, KeptLink) else 0.0

    def open(self, timeout: float | None = None, *, claim: bool = True) -> wire.Status:
        """Say hello until the rig answers, and take it for this host alone unless `claim` is False.

        The timeout is 5 s, or longer where the rig's URL says that its board boots for longer.

        Raises:
            LinkError: no response within `timeout` seconds, two devices answer, or another host drives the
                rig.
        """
        session = self._session
        if timeout is None:
            timeout = max(OPEN_SECONDS, getattr(self._link, "boot_seconds", 0.0))
        deadline = time.monotonic() + timeout
        session.attach()
        while (status := self._present()) is None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise LinkError(self._nobody(timeout))
            self._link.ensure(left)
            if not session.hello(min(0.5, left)) and session.status is not None:
                # Only the broker's retained status: believe it where the rig gives another sign of life.
                session.measure(min(0.5, left))
        for _ in range(3):
            if not session.measure(0.5):
                break
        if session.conflict is not None:
            # Another host may be at work with one of them.
            self._barred = True
            raise LinkError(session.conflict)
        if claim and self._brokered is not None:
            self._barred = True
            self._brokered.claim(timeout, self._tell)
            self._barred = False
        session.beat()
        if claim and self._freeze_watch is not None:
            self._freeze_watch.start()
        return status

    def claim(self, timeout: float = OPEN_SECONDS) -> bool:
        """Take an opened rig for this host alone; whether the link keeps such a claim.

        Raises:
            LinkError: another host drives the rig; the text names it, and since when.
        """
        if self._brokered is None:
            return True
        return self._brokered.claim(timeout, self._tell)

    def init(self, state: Mapping[str, Any], seed: int, timeout: float = 10.0) -> Outcome:
        """Back to the initial state with these overrides (simulators); code `no_answer` if none comes."""
        self._session.init_id = message_id = secrets.token_hex(6)

        def build(_not_after: int | None) -> wire.Init:
            return wire.Init(id=message_id, state=dict(state), seed=seed)

        return self._exchange.run(message_id, build, "init", timeout, "no_answer")

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
        before = self._freezes()
        message_id = call_id or secrets.token_hex(6)

        def build(not_after: int | None) -> wire.Call:
            return wire.Call(id=message_id, tool=tool, args=dict(arguments), not_after=not_after)

        outcome = self._exchange.run(message_id, build, tool, timeout, "timeout", within)
        if self._freezes() != before:
            text = (
                f"this program stood still while {tool} ran, and stopped the rig; how far it got is not known"
            )
            return fault("host_frozen", text)
        return outcome

    def give_up(self, within: float) -> None:
        """Wait for the answer to the call in flight, if there is one, `within` s at most. From any thread."""
        self._session.give_up(within)

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

        with self._session.changed:
            seen = self._session.status_count
        sent = False
        deadline = time.monotonic() + timeout
        try:
            while True:
                self._link.estop()
                if not sent:
                    # A driver asks its machine before this returns.
                    sent, deadline = True, time.monotonic() + timeout
                left = deadline - time.monotonic()
                if self._session.hello_since(seen, max(0.0, min(0.5, left)), says_stopped):
                    return self._stop_said(heard[0])
                if left <= 0.5:
                    break
        except LinkError as error:
            self.stop_error = str(error)
            return StopOutcome.SENT if sent else StopOutcome.NOT_SENT
        self.stop_error = f"{self._link.name} did not say within {timeout:g} s that it is stopped"
        return StopOutcome.SENT

    def _stop_said(self, status: wire.Status) -> StopOutcome:
        outcome = status.stop
        if isinstance(self._link, HandsOnStop):
            # A status may still tell of the stop before.
            outcome = self._link.last_stop
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
        with self._session.changed:
            seen = self._session.status_count
        self._link.send(encode(wire.Reset()))
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0:
            # Said again and again, so that a rig that tells nothing of its own accord tells its state.
            if self._session.hello_since(seen, min(0.5, left), lambda status: status.state == "online"):
                return True
        return False

    def read_clock(self, timeout: float = 2.0) -> ClockReading | None:
        """Ping, and tell what that says of the device's clock; None where its pong states no time.

        Raises:
            LinkError: no answer, or the link is down.
        """
        self._session.reading = None
        self._session.ping(timeout)
        return self._session.reading

    def call_late(self, tool: str, arguments: Mapping[str, Any], timeout: float = 5.0) -> Outcome | None:
        """Send a call whose time is over: a device that keeps deadlines answers `late`, and does nothing.

        None where the device's clock is not known, so that no deadline can be given.
        """
        now = self._session.clock.device_ms(time.monotonic())
        if now is None:
            return None
        message_id = secrets.token_hex(6)

        def build(_not_after: int | None) -> wire.Call:
            return wire.Call(id=message_id, tool=tool, args=dict(arguments), not_after=now - 1000)

        return self._exchange.run(message_id, build, tool, timeout, "timeout")

    def ping(self, timeout: float = 2.0) -> float:
        """The round trip in seconds.

        Raises:
            LinkError: no answer, or the link is down.
        """
        return self._session.ping(timeout)

    def drain(self, timeout: float = 2.0) -> bool:
        """Wait until all samples and truth that the rig has sent so far were delivered; whether they were.

        A ping goes through behind them. A rig that knows no ping has to be silent for 0.2 s instead.
        """
        if self._session.pongs:
            return self._session.measure(timeout)
        deadline = time.monotonic() + timeout
        while (quiet := time.monotonic() - self._session.last_heard) < 0.2:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.2 - quiet)
        return True

    def close(self, safe: bool = True) -> StopOutcome | None:
        """End the link, after a stop when `safe`, and tell how that went; None without one. Never raises."""
        if self._session.closing.is_set():
            return None
        if self._freeze_watch is not None:
            self._freeze_watch.close()
        stop = None
        if safe and not self._barred and self._session.attached:
            # Nobody there, nobody to wait for; the stop goes out all the same.
            stop = self.estop(timeout=0.0 if self._present() is None else CLOSE_SECONDS)
        self._session.close()
        return stop

    def abandon(self, why: str) -> None:
        """The rig is known to be gone for good: every call, the one in flight too, is a fault that says why.

        From any thread. Nothing can stop the rig any more, nor is there one.
        """
        self._session.abandon(why)

    def regain(self, timeout: float) -> None:
        """Wait until the link is back and the rig answers, after trouble in mid-run.

        Raises:
            LinkError: the link is down since `timeout` seconds, or the rig silent for so long, or two devices
                answer.
        """
        deadline = self._session.lost_at(time.monotonic()) + timeout
        while True:
            if self._session.conflict is not None:
                raise LinkError(self._session.conflict)
            if self._session.closing.is_set():
                raise LinkError(self._session.ending)
            left = deadline - time.monotonic()
            try:
                self._link.ensure(max(0.0, left))
                self._session.ping(min(2.0, max(0.1, left)))
                return
            except LinkError as error:
                if time.monotonic() >= deadline:
                    raise LinkError(f"{error}, and it was waited for {timeout:g} s") from None
            time.sleep(REGAIN_PERIOD)

    def _strikes(self) -> int:
        return self._link.strikes if isinstance(self._link, KeptLink) else 0

    def _freezes(self) -> int:
        return 0 if self._freeze_watch is None else self._freeze_watch.freezes()

    def _frozen(self, seconds: float) -> None:
        with contextlib.suppress(LinkError):
            self._link.estop()
        if self._on_freeze is not None:
            self._on_freeze(seconds)

    def _present(self) -> wire.Status | None:
        status = self._session.status
        if status is None or status.state == "offline":
            return None
        return status if self._session.status_count or self._session.pongs else None

    def _nobody(self, timeout: float) -> str:
        status = self._session.status
        if status is not None and status.state == "offline":
            return f"the rig {self._link.name} is offline: start it, or check its power and network"
        silence = f"no response from {self._link.name} within {timeout:g} s"
        if (unfit := self._session.unfit) > 0:
            came = "1 frame came that does not fit" if unfit == 1 else f"{unfit} frames came that do not fit"
            return f"{silence}: {came}: {self._session.last_unfit}"
        if status is not None and self._brokered is not None:
            return (
                f"the rig {self._link.name} says that it is {status.state}, but does not answer within "
                f"{timeout:g} s: does the broker's access list let us write its call and read its result?"
            )
        if self._link.dropped:
            return f"{silence}: {self._link.dropped} lines came that do not check: is the baud rate right?"
        return f"{silence}: is the rig on, and the name right?"
