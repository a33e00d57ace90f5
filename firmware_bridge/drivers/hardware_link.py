"""The link to hardware behind a driver: the device's endpoint runs in this process, in front of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from devices.device import Device
from devices.outcome import StopOutcome
from firmware_bridge.link import LinkError, OnFrame
from firmware_bridge.local.link import LocalLink


class Hardware(Device, Protocol):
    """A device that is hardware.

    Attributes:
        leave_alone: set before it is closed: then no stop is sent to a rig without calls.
    """

    leave_alone: bool

    def close(self) -> None:
        """Close the hardware. Never raises."""


class Reached(Protocol):
    """What tells whether the hardware can be reached.

    Attributes:
        on_wire: called when it cannot (None), and when it can again, with the outcome of its stop.
    """

    on_wire: Callable[[StopOutcome | None], None]

    @property
    def connected(self) -> bool:
        """Whether bytes can go out, to hardware that has not fallen silent."""

    @property
    def why_down(self) -> str:
        """Why they cannot; one line."""

    @property
    def stop_owed(self) -> bool:
        """Whether a stop is pending, and can be sent once the wire is back."""

    @property
    def confirms_stop(self) -> bool:
        """Whether a stop can be confirmed."""

    def reconnect(self) -> None:
        """Reach it again; the stop goes first. Raises LinkError."""


class HardwareLink(LocalLink):
    """The link to the endpoint of hardware. Closing it sends the stop, unless no call was made."""

    stands_still_with_us = False
    status_source = "link"

    def __init__(self, device: Hardware, name: str, unattended: str, confirms_stop: bool) -> None:
        super().__init__(device, name=name)
        self._device = device
        self.unattended, self.confirms_stop = unattended, confirms_stop

    def estop(self) -> StopOutcome | None:
        """Stop the hardware, and return whether it stands. Raises LinkError if the stop was not sent."""
        super().estop()
        outcome = self.endpoint.last_stop
        if outcome is StopOutcome.NOT_SENT:
            raise LinkError(self.why_down)
        return outcome

    def close(self) -> None:
        """Stop the hardware, unless it was only observed, and close it."""
        self._device.leave_alone = True
        super().close()
        self._device.close()


class WiredLink(HardwareLink):
    """The link to hardware whose wire can be lost and found; it is connected while the wire is."""

    def __init__(self, device: Hardware, reached: Reached, name: str, unattended: str) -> None:
        super().__init__(device, name, unattended, reached.confirms_stop)
        self._reached = reached

    @property
    def connected(self) -> bool:
        """Whether bytes can go out to the hardware now."""
        return super().connected and self._reached.connected

    @property
    def why_down(self) -> str:
        """Why no bytes can go out to the hardware; one line."""
        return self._reached.why_down

    @property
    def stop_owed(self) -> bool:
        """Whether the hardware could not be stopped, and can be once the lost wire is back."""
        return self._reached.stop_owed

    def attach(self, on_frame: OnFrame, on_state: Callable[[bool], None]) -> None:
        """Start the reader thread, and report changes of the wire."""
        super().attach(on_frame, on_state)

        def report(stop: StopOutcome | None) -> None:
            if stop is not None:
                self.endpoint.note_stop(stop)
            on_state(stop is not None)

        self._reached.on_wire = report

    def ensure(self, timeout: float) -> None:
        """Try once to open a lost wire, or to hear a mute machine; the stop goes first. Raises LinkError."""
        super().ensure(timeout)
        if not self.connected:
            self._reached.reconnect()

    def send(self, payload: bytes) -> None:
        """Deliver a payload to the endpoint. Raises LinkError while the wire is lost, or the machine mute."""
        if not self.connected:
            raise LinkError(self.why_down)
        super().send(payload)
