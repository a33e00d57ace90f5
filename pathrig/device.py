"""What a package of a device, or of a driver, is made of."""

from __future__ import annotations

from devices.device_type import DeviceType as Device
from devices.drivers.settings import Settings
from devices.drivers.tool_driver import (
    DriverFault,
    LockedDriver,
    Stopped,
    ToolDriver,
    inverted_sum,
    xor_of,
)
from devices.outcome import Outcome, Refusal
from devices.sensors import Sample, SensorSpec
from devices.tool import Effect, NoArguments, Tool, ToolArguments, ToolResult
from firmware_bridge.serial.frame_port import FramePort, crc16
from firmware_bridge.serial.line_port import LinePort
from firmware_bridge.serial.open import open_port

__all__ = [
    "Device",
    "DriverFault",
    "Effect",
    "FramePort",
    "LinePort",
    "LockedDriver",
    "NoArguments",
    "Outcome",
    "Refusal",
    "Sample",
    "SensorSpec",
    "Settings",
    "Stopped",
    "Tool",
    "ToolArguments",
    "ToolDriver",
    "ToolResult",
    "crc16",
    "inverted_sum",
    "open_port",
    "xor_of",
]
