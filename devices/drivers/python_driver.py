"""Drivers written in Python: the interface of their classes, and how a driver file names one."""

from __future__ import annotations

from importlib import import_module
from typing import Protocol, cast

from devices.device import Device
from devices.drivers.settings import Settings


class PythonDriver(Device, Protocol):
    """A device whose hardware this class drives. Its constructor opens the hardware, or raises OSError.

    Calls are checked against the device type before they reach `execute`.
    """

    confirms_stop: bool
    """Whether `safe` can find out that the hardware is stopped."""

    def close(self) -> None:
        """Close the hardware; the stop was sent before. Never raises."""


class PythonDriverClass(Protocol):
    """The class of a driver, as the kit calls it."""

    def __call__(self, url: str, settings: Settings) -> PythonDriver:
        """Open the hardware at a rig's URL, with its options and tables."""


def load_class(reference: str) -> PythonDriverClass:
    """Import the class that `package.module:Class` names.

    Raises:
        ValueError: it cannot be imported, or is no class; one line.
    """
    module, _, name = reference.partition(":")
    try:
        found = getattr(import_module(module), name)
    except Exception as error:
        raise ValueError(f"{reference!r} cannot be imported ({type(error).__name__}: {error})") from error
    if not isinstance(found, type):
        raise ValueError(f"{reference!r} is no class: write package.module:Class")
    return cast("PythonDriverClass", found)
