"""A link to a device in this process; every message passes through the codec."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from typing import Protocol, runtime_checkable

from devices.device import Device
from devices.outcome import StopOutcome
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.link import Link, LinkError, OnFrame, Port, PortHandler
from firmware_bridge.messages import DeviceMessage, Status

log = logging.getLogger(__name__)


class LocalPort(Port):
    """The device's end of a local link."""

    def __init__(self) -> None:
        self.outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.handler: PortHandler | None = None

    def open(self, handler: PortHandler, last_will: Status, max_frame: int) -> None:
        """Report that the link is up."""
        self.handler = handler
        handler.on_up()

    def send(self, message: DeviceMessage, payload: bytes) -> None:
        """Queue a message for the host."""
        self.outbox.put(payload)

    def close(self, last: bytes) -> None:
        """Queue the last status, and close the link."""
        self.handler = None
        self.outbox.put(last)
        self.outbox.put(None)


class LocalLink(Link):
    """The host's end, which owns the device's endpoint; closing the link stops the device."""

    stands_still_with_us = True

    def __init__(self, device: Device, *, watchdog_ms: int = 5000, name: str = "local") -> None:
        self.name = f"{name}:{device.name}"
        self._port = LocalPort()
        self.endpoint = DeviceEndpoint(device, port_for(device, self._port), watchdog_ms=watchdog_ms)
        self.endpoint.start()
        self._reader: threading.Thread | None = None

    @property
    def connected(self) -> bool:
        """Whether the link is open."""
        return self._port.handler is not None

    def attach(self, on_frame: OnFrame, on_state: Callable[[bool], None]) -> None:
        """Start the reader thread."""
        self._reader = threading.Thread(target=self._read, args=(on_frame,), name=self.name, daemon=True)
        self._reader.start()

    def ensure(self, timeout: float) -> None:
        """Raise LinkError if the link is closed."""
        self._opened()

    def _opened(self) -> PortHandler:
        if self._port.handler is None:
            raise LinkError(f"{self.name} is closed")
        return self._port.handler

    def send(self, payload: bytes) -> None:
        """Deliver a payload to the device. Raises LinkError if the link is closed."""
        self._opened().on_frame(payload)

    def estop(self) -> StopOutcome | None:
        """Stop the device at once. Raises LinkError if the link is closed."""
        self._opened().on_stop()
        return None

    def close(self) -> None:
        """Stop the device, and deliver its last messages."""
        self.endpoint.close()
        if self._reader is not None and self._reader is not threading.current_thread():
            self._reader.join(2.0)

    def _read(self, on_frame: OnFrame) -> None:
        while (payload := self._port.outbox.get()) is not None:
            try:
                on_frame(payload, False)
            except Exception:
                log.exception("a callback of the local link failed")


@runtime_checkable
class WrapsPort(Protocol):
    """The additional method of such a device."""

    def wrap_port(self, port: Port) -> Port:
        """Return the port that its endpoint uses instead."""


def port_for(device: Device, port: Port) -> Port:
    """Return the port for a device's endpoint, wrapped if the device wraps ports."""
    return device.wrap_port(port) if isinstance(device, WrapsPort) else port
