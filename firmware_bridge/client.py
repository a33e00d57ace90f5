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
from firmware_bridge import messages as wire
from firmware_bridge.codec import encode
from firmware_bridge.exchange import Exchange
from firmware_bridge.link import BrokeredLink, Link, LinkError, Tell, tell_terminal
from firmware_bridge.session import Callbacks, ClockReading, RigSession

OPEN_SECONDS = 5.0
"""How long a rig may take to answer hello."""
REGAIN_PERIOD = 0.1
"""Seconds between two tries to get a lost link back."""


class RigClient:
    """Drives one rig over a link.

    Callbacks run one at a time on the thread that reads, which is one that waits in a call of ours or the
    link's own; they must not call back into the client. SIGINT and SIGTERM never strike within them.

    Trouble of the link never raises from `call` and `init`: it is an outcome with status `fault` and code
    `timeout` (no answer before the deadline), `link` (no link), `offline` (the rig said that it went),
    `device_reset` (it lost its memory in mid-call, so that a retry could run the call twice), `two_devices`
    (two answer under the one name) or `protocol` (an unknown status). A call that is too long for the
    device's `max_frame` is `invalid`, code `too_long`.

    Args:
        link: an open link; the client closes it.
        on_sample, on_truth, on_status: take what the rig publishes.
        on_noted: takes something odd that the client found: a short word, and what it is.
        tell: takes a line for the person at the terminal.
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
        retry_after: float = 1.0,
    ) -> None:
        self._link = link
        self._tell = tell
        self._session = RigSession(link, Callbacks(on_sample, on_truth, on_status, on_noted))
        self._brokered = link if isinstance(link, BrokeredLink) else None
        self._exchange = Exchange(link, self._session, retry_after)
        self._barred = False

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

        An ack of a rig that is at work stretches `timeout`, and does not stretch `within`, s.
        """
        message_id = call_id or secrets.token_hex(6)

        def build(not_after: int | None) -> wire.Call:
            return wire.Call(id=message_id, tool=tool, args=dict(arguments), not_after=not_after)

        return self._exchange.run(message_id, build, tool, timeout, "timeout", within)

    def give_up(self, within: float) -> None:
        """Wait for the answer to the call in flight, if there is one, `within` s at most. From any thread."""
        self._session.give_up(within)

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

    def close(self, safe: bool = True) -> None:
        """End the link, after a stop when `safe`. Never raises."""
        if self._session.closing.is_set():
            return
        if safe and not self._barred and self._session.attached and self._link.connected:
            with contextlib.suppress(LinkError):
                # Nobody there, nobody to wait for; the stop goes out all the same.
                self.estop(timeout=0.0 if self._present() is None else 1.0)
        self._session.close()

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

    def _switch(self, send: Callable[[], None], state: str, timeout: float) -> bool:
        with self._session.changed:
            seen = self._session.status_count
        send()
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0:
            # Said again and again, so that a rig that tells nothing of its own accord tells its state.
            if self._session.hello_since(seen, min(0.5, left), lambda status: status.state == state):
                return True
        return False

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
