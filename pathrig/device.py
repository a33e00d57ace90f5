"""What a package of a device, or of a driver, is made of."""

from __future__ import annotations

from devices.device_type import DeviceType as Device
from devices.outcome import Outcome, Refusal
from devices.sensors import Sample, SensorSpec
from devices.tool import Effect, NoArguments, Tool, ToolArguments, ToolResult

__all__ = [
    "Device",
    "Effect",
    "NoArguments",
    "Outcome",
    "Refusal",
    "Sample",
    "SensorSpec",
    "Tool",
    "ToolArguments",
    "ToolResult",
]
