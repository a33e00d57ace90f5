"""What a link is, seen from either end."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol

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


class Link(ABC):
    """The host's end. Payloads are JSON; the link frames them.

    What only some links do has a default here, so that whoever uses a link need not ask of which kind it is.
    """

    name: str
    """The URL without password, for messages."""
    default_max_frame: int | None = None
    """Bytes of the longest frame for a device that states none; None: no limit."""
    frame_overhead: int = 0
    """Bytes that framing adds to a payload."""
    boot_seconds: float = 0.0
    """How long a board may take to answer after its port was opened."""
    brokered: bool = False
    """A broker stands in between: it has permissions of its own, and others reach the rig through it too."""
    stands_still_with_us: bool = False
    """Whatever stops this process stops the device as well."""

    @property
    @abstractmethod
    def connected(self) -> bool:
        """Whether bytes can go out now."""

    @property
    def dropped(self) -> int:
        """Frames that did not check."""
        return 0

    @property
    def confirms_stop(self) -> bool:
        """Whether the far end can tell that it is stopped."""
        return True

    @property
    def strikes(self) -> int:
        """How often a second process stopped the machine because this process stood still."""
        return 0

    @property
    def late_stop_seconds(self) -> float:
        """After `close`: how long a second process waits for a lost port, to send a stop that is owed."""
        return 0.0

    @abstractmethod
    def attach(self, on_frame: OnFrame, on_state: Callable[[bool], None]) -> None:
        """Deliver all payloads from now on, and every change of `connected`, on the thread that reads."""

    @abstractmethod
    def ensure(self, timeout: float) -> None:
        """Return once the link is up: MQTT waits for the broker, a serial port is opened again.

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
        """Send a call that a broker is to forget after `seconds`, where it can. Raises LinkError."""
        self.send(payload)

    @abstractmethod
    def estop(self) -> None:
        """Send the emergency stop without waiting for anything.

        Raises:
            LinkError: it did not go out.
        """

    def stop_outcome(self, stated: StopOutcome | None) -> StopOutcome | None:
        """How the last `estop` went: what the device's status stated, unless the link itself knows better."""
        return stated

    def discard(self) -> None:  # noqa: B027
        """Forget what has not gone out, except an emergency stop."""

    def check_permission(self) -> None:  # noqa: B027
        """Ask whether our calls are let through, where a broker would not tell by itself.

        Raises:
            LinkError: they are not.
        """

    def claim(self, timeout: float, tell: Tell) -> bool:
        """Take the rig for this host alone; False where the broker has no place for such claims.

        `tell` is told which host is waited for.

        Raises:
            LinkError: another host drives it; the text names it, and since when.
        """
        return True

    def renew(self) -> None:  # noqa: B027
        """Keep what was claimed; to be called every two seconds or more often."""

    @abstractmethod
    def close(self) -> None:
        """Close it. Never raises."""


class PortHandler(Protocol):
    """What a device's port calls, on the thread that reads."""

    def on_frame(self, payload: bytes, before_stop: bool = False) -> None:
        """A payload came; `before_stop`: it began before a stop byte that has been seen already."""

    def on_stop(self) -> None:
        """The emergency stop came outside the frames."""

    def on_up(self) -> None:
        """The link is up, for the first time or again."""


class Port(ABC):
    """The device's end."""

    @property
    def dropped(self) -> int:
        """Frames that did not check."""
        return 0

    @abstractmethod
    def open(self, handler: PortHandler, last_will: Status, max_frame: int) -> None:
        """Start delivering. Raises LinkError."""

    @abstractmethod
    def send(self, message: DeviceMessage, payload: bytes) -> None:
        """Send a message, whose JSON is `payload`. Never blocks, never raises for link trouble."""

    def discard(self) -> None:  # noqa: B027
        """Forget what has not gone out: nobody was there to read it."""

    @abstractmethod
    def close(self, last: bytes) -> None:
        """Send this last status, and close. Never raises."""
