"""Devices that wrap their port, such as simulators with link faults."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from devices.device import Device
from firmware_bridge.link import Port


@runtime_checkable
class WrapsPort(Protocol):
    """The additional method of such a device."""

    def wrap_port(self, port: Port) -> Port:
        """Return the port that its endpoint uses instead."""


def port_for(device: Device, port: Port) -> Port:
    """Return the port for a device's endpoint, wrapped if the device wraps ports."""
    return device.wrap_port(port) if isinstance(device, WrapsPort) else port
