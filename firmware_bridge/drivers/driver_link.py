"""A driver file's hardware as a link like any other."""

from __future__ import annotations

from devices.device_type import DeviceType
from devices.drivers.driver_file import DriverFile
from devices.drivers.settings import Settings
from devices.drivers.templates import render
from firmware_bridge.drivers.driver_device import DriverDevice
from firmware_bridge.drivers.hardware_link import WiredLink
from firmware_bridge.drivers.reports import stop_messages
from firmware_bridge.drivers.serial_line import SerialLine
from firmware_bridge.drivers.wire import Wire
from firmware_bridge.serial.address import parse_serial_url


def open_driver_link(
    driver: DriverFile,
    device_type: DeviceType,
    settings: Settings,
    url: str,
    name: str,
    *,
    stop_first: bool = False,
) -> WiredLink:
    """Open the hardware behind a serial URL of any form, or `mqtt://[user:pass@]host[:port]/RIG`.

    With `stop_first` the stop is sent before all else.

    Raises:
        LinkError: the hardware cannot be reached, or does not answer as its driver expects.
    """
    if driver.link == "serial":
        wire: Wire = SerialLine(parse_serial_url(url, driver.line.baud))
        device = DriverDevice(driver, device_type, settings, wire)
    else:
        from firmware_bridge.drivers.topics import DriverTopics
        from firmware_bridge.mqtt.address import parse_mqtt_url

        address = parse_mqtt_url(url)
        names = settings.names(address.rig)
        topics = [render(topic, names) for topic in driver.subscribe]
        wire = DriverTopics(address, topics, stop_messages(driver, names, settings.tables))
        device = DriverDevice(driver, device_type, settings, wire, address.rig)
    device.machine.open(stop_first=stop_first)
    return WiredLink(device, device.machine, name, device.unattended)
