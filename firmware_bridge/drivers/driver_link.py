"""A driver file's hardware as a link like any other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

from devices.device_type import DeviceType
from devices.drivers.driver_file import DriverFile
from devices.drivers.settings import Settings
from devices.drivers.templates import render
from devices.stop_outcome import StopOutcome
from firmware_bridge.drivers.driver_device import DriverDevice
from firmware_bridge.drivers.hardware_link import HardwareLink
from firmware_bridge.drivers.reports import stop_messages
from firmware_bridge.drivers.serial_line import SerialLine
from firmware_bridge.drivers.topics import DriverTopics
from firmware_bridge.drivers.wire import Wire
from firmware_bridge.link import LinkError, OnFrame
from firmware_bridge.mqtt.address import parse_mqtt_url
from firmware_bridge.serial.address import SerialAddress, parse_serial_url


class DriverLink(HardwareLink):
    """The link to a driver's endpoint in this process, connected while the hardware's wire is."""

    def __init__(self, device: DriverDevice, name: str) -> None:
        self._machine = device.machine
        super().__init__(device, name, device.unattended, self._machine.confirms_stop)

    @property
    def connected(self) -> bool:
        """Whether bytes can go out to the hardware now."""
        return super().connected and self._machine.connected

    @property
    def why_down(self) -> str:
        """Why no bytes can go out to the hardware; one line."""
        return self._machine.why_down

    @property
    def stop_owed(self) -> bool:
        """Whether the hardware could not be stopped, and can be once the lost wire is back."""
        return self._machine.stop_owed

    def attach(self, on_frame: OnFrame, on_state: Callable[[bool], None]) -> None:
        """Start the reader thread, and report changes of the wire."""
        super().attach(on_frame, on_state)

        def report(stop: StopOutcome | None) -> None:
            if stop is not None:
                self.endpoint.note_stop(stop)
            on_state(stop is not None)

        self._machine.on_wire = report

    def ensure(self, timeout: float) -> None:
        """Try once to open a lost wire, or to hear a mute machine; the stop goes first. Raises LinkError."""
        super().ensure(timeout)
        if not self.connected:
            self._machine.reconnect()

    def send(self, payload: bytes) -> None:
        """Deliver a payload to the endpoint. Raises LinkError while the wire is lost, or the machine mute."""
        if not self.connected:
            raise LinkError(self.why_down)
        super().send(payload)


def open_driver_link(
    driver: DriverFile, device_type: DeviceType, settings: Settings, url: str, name: str
) -> DriverLink:
    """Open the hardware behind a serial URL of any form, or `mqtt://[user:pass@]host[:port]/RIG`.

    Raises:
        LinkError: the hardware cannot be reached, or does not answer as its driver expects.
    """
    if driver.link == "serial":
        wire: Wire = SerialLine(_serial_address(url, driver.line.baud))
        device = DriverDevice(driver, device_type, settings, wire)
    else:
        address = parse_mqtt_url(url)
        names = settings.names(address.rig)
        topics = [render(topic, names) for topic in driver.subscribe]
        wire = DriverTopics(address, topics, stop_messages(driver, names, settings.tables))
        device = DriverDevice(driver, device_type, settings, wire, address.rig)
    device.machine.open()
    return DriverLink(device, name)


def _serial_address(url: str, default_baud: int) -> SerialAddress:
    address = parse_serial_url(url)
    return address if "baud" in parse_qs(urlsplit(url).query) else replace(address, baud=default_baud)
