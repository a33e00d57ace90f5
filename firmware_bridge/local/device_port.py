"""A device that puts something of its own between itself and its port, such as a simulator's link faults."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from devices.device import Device
from firmware_bridge.link import Port


@runtime_checkable
class WrapsPort(Protocol):
    """What such a device has besides."""

    def wrap_port(self, port: Port) -> Port:
        """The port that its endpoint is to use instead of this one."""


def port_for(device: Device, port: Port) -> Port:
    """The port for a device's endpoint: this one, or what the device makes of it."""
    return device.wrap_port(port) if isinstance(device, WrapsPort) else port
