"""What a link is, seen from either end."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Protocol, runtime_checkable

from devices.stop_outcome import StopOutcome
from firmware_bridge.messages import DeviceMessage, Status

OnFrame = Callable[[bytes, bool], None]
"""Takes a payload, and whether it is a broker's retained copy."""


Tell = Callable[[str], None]
"""Takes one line for the person at the terminal."""


def tell_terminal(line: str) -> None:
    """Write one line to standard error."""
    print(f"pathrig: {line}", file=sys.stderr, flush=True)


class LinkError(Exception):
    """A link that cannot be opened, or is down; the text is one line that says what to do."""


class Link(Protocol):
    """The host's end. Payloads are JSON; the link frames them."""

    name: str
    """The URL without password, for messages."""
    default_max_frame: int | None
    """Bytes of the longest frame for a device that states none; None: no limit."""
    frame_overhead: int
    """Bytes that framing adds to a payload."""

    @property
    def connected(self) -> bool:
        """Whether bytes can go out now."""

    @property
    def dropped(self) -> int:
        """Frames that did not check."""

    def attach(self, on_frame: OnFrame, on_state: Callable[[bool], None]) -> None:
        """Deliver all payloads from now on, and every change of `connected`, on the thread that reads."""

    def ensure(self, timeout: float) -> None:
        """Return once the link is up: MQTT waits for the broker, a serial port is opened again.

        Raises:
            LinkError: still down after `timeout` seconds.
        """

    def send(self, payload: bytes) -> None:
        """Send one payload.

        Raises:
            LinkError: the link is down.
        """

    def estop(self) -> None:
        """Send the emergency stop by the way that waits for nothing.

        Raises:
            LinkError: it did not go out.
        """

    def discard(self) -> None:
        """Forget what has not gone out, except an emergency stop."""

    def close(self) -> None:
        """Close it. Never raises."""


@runtime_checkable
class BrokeredLink(Protocol):
    """What a host's link through a broker has besides: others reach the rig too, and calls may be held."""

    def send_call(self, payload: bytes, call_id: str, seconds: float) -> None:
        """Send a call that the broker is to forget after `seconds`, where it can. Raises LinkError."""

    def check_permission(self) -> None:
        """Ask the broker whether it lets our calls through, where it would not tell by itself.

        Raises:
            LinkError: it does not.
        """

    def claim(self, timeout: float, tell: Tell) -> bool:
        """Take the rig for this host alone; False where the broker has no place for such claims.

        `tell` hears for whom it is waited.

        Raises:
            LinkError: another host drives it; the text names it, and since when.
        """

    def renew(self) -> None:
        """Keep what was claimed; to be called every two seconds or more often."""


@runtime_checkable
class HandsOnStop(Protocol):
    """What a link has besides where a driver, and no device, says how the stop went."""

    @property
    def confirms_stop(self) -> bool:
        """Whether the driver knows a question that tells whether the machine obeyed."""

    @property
    def last_stop(self) -> StopOutcome | None:
        """What is known of the last stop, when `estop` has returned."""


@runtime_checkable
class KeptLink(Protocol):
    """What a link has besides whose line a second process holds too, which stops the machine in our stead."""

    @property
    def strikes(self) -> int:
        """How often it did so because we stood still."""

    @property
    def late_stop_seconds(self) -> float:
        """After `close`: how long it waits for a lost port, to send the stop that we could not send."""


@runtime_checkable
class ReadByWaiters(Protocol):
    """A link or port that a thread that waits for news may read itself, so that nobody has to wake it."""

    def read_until(self, done: Callable[[], bool], timeout: float | None, news: threading.Condition) -> None:
        """Wait until `done()`, at most `timeout` seconds; deliver what comes on this thread meanwhile.

        Only one thread reads at a time: `news` is to be notified of all that another one reads.
        """

    def interrupt(self) -> None:
        """Have whoever reads look again whether it is done."""


class Waiting:
    """How to wait for what comes over a link or port, of whichever sort that is."""

    def __init__(self, way: object, news: threading.Condition) -> None:
        self._read = way if isinstance(way, ReadByWaiters) else None
        self._news = news

    def until(self, done: Callable[[], bool], timeout: float | None = None) -> bool:
        """Wait until `done()`, at most `timeout` seconds; whether it is."""
        if self._read is not None:
            self._read.read_until(done, timeout, self._news)
            return done()
        with self._news:
            return self._news.wait_for(done, timeout)

    def interrupt(self) -> None:
        """Have all that wait look again whether they are done."""
        with self._news:
            self._news.notify_all()
        if self._read is not None:
            self._read.interrupt()


class PortHandler(Protocol):
    """What a device's port calls, on the thread that reads."""

    def on_frame(self, payload: bytes, before_stop: bool = False) -> None:
        """A payload came; `before_stop`: it began before a stop byte that has been seen already."""

    def on_stop(self) -> None:
        """The emergency stop came outside the frames."""

    def on_up(self) -> None:
        """The link is up, for the first time or again."""


class Port(Protocol):
    """The device's end."""

    @property
    def dropped(self) -> int:
        """Frames that did not check."""

    def open(self, handler: PortHandler, last_will: Status, max_frame: int) -> None:
        """Start delivering. Raises LinkError."""

    def send(self, message: DeviceMessage, payload: bytes) -> None:
        """Send a message, whose JSON is `payload`. Never blocks, never raises for link trouble."""

    def discard(self) -> None:
        """Forget what has not gone out: nobody was there to read it."""

    def close(self, last: bytes) -> None:
        """Send this last status, and close. Never raises."""
