"""The interfaces of a link: the host's end and the device's end."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol

from devices.outcome import StopOutcome
from devices.rig_motion import RigMotion

if TYPE_CHECKING:
    from firmware_bridge.messages import DeviceMessage, Status

OnFrame = Callable[[bytes, bool], None]
"""Receives a payload, and whether it is a broker's retained copy."""


Tell = Callable[[str], None]
"""Receives one line for the person at the terminal."""


_tell: list[Tell] = [lambda line: print(f"pathrig: {line}", file=sys.stderr, flush=True)]


def tell_terminal(line: str) -> None:
    """Write one line to standard error, or where `tell_through` says."""
    _tell[-1](line)


def tell_through(tell: Tell) -> None:
    """Have all lines for the person at the terminal go here: a rig process has no terminal."""
    _tell[:] = [tell]


OnNoted = Callable[[str, Mapping[str, Any]], None]
"""Receives an anomaly for the log: a short name, and its details."""


class LinkError(Exception):
    """A link that cannot be opened, or is down; the text is one line with the remedy."""


class LinkGoneError(LinkError):
    """A link that will not come back, so that waiting for it is of no use."""


def gone(name: str) -> str:
    """Return the line about a port or a rig that is no longer there."""
    return f"{name} is gone; is the cable in?"


class PortInUse(LinkError):
    """Another program has the port open."""


class Keeper(Protocol):
    """A second process, which stops the machine when this one is killed or stands still.

    Attributes:
        late_stop_seconds: after the link is closed, how long it waits for a lost port to send a pending stop.
        on_noted: receives what it did for the log; set by the client.
    """

    late_stop_seconds: float
    on_noted: OnNoted | None

    @property
    def strikes(self) -> int:
        """How often it has stopped the machine because this process stood still."""


class Record(Protocol):
    """A recorded rig.

    Attributes:
        departure: why the answers no longer come from the record; None while they do.
    """

    departure: str | None


class Link(ABC):
    """The host's end. Payloads are JSON; the link frames them.

    Features of only some links have defaults here, so that users of a link need no type checks.
    """

    name: str
    """The URL without password, for messages."""
    default_max_frame: int | None = None
    """Bytes of the longest frame if the device's status states none; None: no limit."""
    dropped: int = 0
    """Number of frames that were too long or had a wrong checksum."""
    frame_overhead: int = 0
    """Bytes that framing adds to a payload."""
    boot_seconds: float = 0.0
    """Time that a board may take to boot after its port was opened."""
    brokered: bool = False
    """Whether a broker connects the two ends: it has permissions, and other hosts may reach the rig."""
    stands_still_with_us: bool = False
    """Whether the device runs in this process, so that a frozen process freezes it too."""
    confirms_stop: bool = True
    """Whether the far end can confirm a stop."""
    keeper: Keeper | None = None
    """What stops the rig when this process cannot: the rig process, where the link has one."""
    status_source: Literal["device", "link"] = "device"
    """Who writes the statuses: the device, or the host's own endpoint in front of foreign hardware. The
    watchdog of the latter ends with the host."""
    unattended: str = ""
    """What else stops the machine if host and keeper die, as declared: last wills, pin guards."""
    late_stop: Mapping[str, Any] | None = None
    """The stop of an earlier run, sent after its host was gone: `time` (UTC epoch, s) and `outcome`."""
    stops_before_sleep: bool = False
    """Whether the rig is stopped before this machine goes to sleep."""
    record: Record | None = None
    """The record, where the link repeats one instead of reaching a rig."""

    @cached_property
    def rig(self) -> RigMotion:
        """What this end knows of whether the rig moves: fed by `stop`, and by whoever drives the link."""
        return RigMotion()

    @property
    @abstractmethod
    def connected(self) -> bool:
        """Whether bytes can go out now."""

    @property
    def why_down(self) -> str:
        """Why no bytes can go out, while that is so; one line."""
        return gone(self.name)

    @property
    def stop_owed(self) -> bool:
        """Whether a stop could not be sent, and can be once the lost wire is back."""
        return False

    @abstractmethod
    def attach(self, on_frame: OnFrame, on_state: Callable[[bool], None]) -> None:
        """Deliver all payloads, and every change of `connected`, on the link's thread."""

    @abstractmethod
    def ensure(self, timeout: float) -> None:
        """Wait until the link is up: MQTT waits for the broker, a serial port is opened again.

        Raises:
            LinkError: still down after `timeout` seconds.
        """

    @abstractmethod
    def send(self, payload: bytes) -> None:
        """Send one payload.

        Raises:
            LinkError: the link is down.
        """

    def send_call(self, payload: bytes, call_id: str, seconds: float) -> None:
        """Send a call; a broker that can discards it after `seconds`. Raises LinkError."""
        self.send(payload)

    @abstractmethod
    def estop(self) -> StopOutcome | None:
        """Send the emergency stop at once; return how it went, None where the device's status will tell.

        Raises:
            LinkError: it was not sent.
        """

    def stop(self) -> StopOutcome | None:
        """Send the emergency stop as `estop` does, and have `rig` know of it. Raises LinkError."""
        outcome = self.estop()
        self.rig.stopped(outcome)
        return outcome

    def discard(self) -> None:  # noqa: B027
        """Discard messages that were not sent, except an emergency stop."""

    def check_permission(self) -> None:  # noqa: B027
        """Ask a broker that drops forbidden messages silently whether it accepts our calls.

        Raises:
            LinkError: it does not.
        """

    def claim(self, timeout: float, tell: Tell) -> bool:
        """Acquire the rig's lease; False if the broker does not keep leases.

        `tell` receives the host that is waited for.

        Raises:
            LinkError: another host drives it; the text names it, and since when.
        """
        return True

    def renew(self) -> None:  # noqa: B027
        """Renew the lease; to be called at least every two seconds."""

    @abstractmethod
    def close(self) -> None:
        """Close the link. Never raises."""


class PortHandler(Protocol):
    """The callbacks of a device's port, on the thread that reads it."""

    def on_frame(self, payload: bytes, before_stop: bool = False) -> None:
        """Handle a payload; `before_stop`: it began before a stop byte that was already handled."""

    def on_stop(self) -> None:
        """Handle an emergency stop outside the frames."""

    def on_up(self) -> None:
        """Handle a link that is up, for the first time or again."""


class Port(ABC):
    """The device's end."""

    @property
    def dropped(self) -> int:
        """Number of frames with a wrong checksum."""
        return 0

    @abstractmethod
    def open(self, handler: PortHandler, last_will: Status, max_frame: int) -> None:
        """Open the port and deliver its messages. Raises LinkError."""

    @abstractmethod
    def send(self, message: DeviceMessage, payload: bytes) -> None:
        """Send a message, whose JSON is `payload`. Never blocks; errors of the link are ignored."""

    def discard(self) -> None:  # noqa: B027
        """Discard messages that no host has read."""

    @abstractmethod
    def close(self, last: bytes) -> None:
        """Send this last status, and close. Never raises."""
