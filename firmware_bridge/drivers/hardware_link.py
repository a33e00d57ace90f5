"""The link to hardware behind a driver: the device's endpoint runs in this process, in front of it."""

from __future__ import annotations

from typing import Protocol

from devices.device import Device
from devices.stop_outcome import StopOutcome
from firmware_bridge.link import LinkError
from firmware_bridge.local.link import LocalLink


class Hardware(Device, Protocol):
    """A device that is hardware.

    Attributes:
        leave_alone: set before it is closed: then no stop is sent to a rig without calls.
    """

    leave_alone: bool

    def close(self) -> None:
        """Close the hardware. Never raises."""


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
