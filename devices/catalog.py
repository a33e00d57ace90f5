"""The device types that ship with the kit."""

from __future__ import annotations

from devices.farm_rover.tools import FARM_ROVER
from devices.robotic_arm.tools import ROBOTIC_ARM
from devices.surface import DeviceType

DEVICE_TYPES = {device.name: device for device in (FARM_ROVER, ROBOTIC_ARM)}


def device_type(name: str) -> DeviceType:
    """The device type of that name.

    Raises:
        KeyError: no such type; the text names those there are.
    """
    try:
        return DEVICE_TYPES[name]
    except KeyError:
        raise KeyError(f"no device type {name!r}; there are {', '.join(DEVICE_TYPES)}") from None
