"""Drivers written in Python: the interface of their classes, and how a driver file names one."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Protocol, cast

from devices.device import ToolRunner
from devices.drivers.settings import Settings
from devices.error_text import described


class PythonDriver(ToolRunner, Protocol):
    """A class that drives hardware. Its constructor opens the hardware, or raises OSError.

    It runs in the rig process. Calls are checked against the device type before they reach `execute`; `stop`,
    `standing` and `reset` may come from another thread meanwhile.
    """

    def stop(self) -> None:
        """Send what stops the hardware at once, and do not wait. Raises OSError if it was not sent."""

    def standing(self) -> bool | None:
        """Ask the hardware whether it stands still, with all outputs off; None if it cannot be asked.

        Raises OSError if it does not answer. The kit asks after each stop.
        """

    def close(self) -> None:
        """Close the hardware; the stop was sent before. Never raises."""


PythonDriverClass = Callable[[str, Settings], PythonDriver]
"""The class of a driver, as the kit calls it: with a rig's URL, and its options and tables."""


def load_class(reference: str) -> PythonDriverClass:
    """Import the class that `package.module:Class` names.

    Raises:
        ValueError: it cannot be imported, or is no class; one line.
    """
    module, _, name = reference.partition(":")
    try:
        found = getattr(import_module(module), name)
    except Exception as error:
        raise ValueError(f"{reference!r} cannot be imported ({described(error)})") from error
    if not isinstance(found, type):
        raise ValueError(f"{reference!r} is no class: write package.module:Class")
    lacking = [name for name in ("execute", "stop", "standing", "reset", "close") if not hasattr(found, name)]
    if lacking:
        raise ValueError(f"{reference!r} has no method {', '.join(lacking)}: see docs/drivers.md")
    return cast("PythonDriverClass", found)
