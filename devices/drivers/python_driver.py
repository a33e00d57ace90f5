"""Drivers written in Python: the interface of their classes, and how a driver file names one."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from threading import Event
from typing import Any, Protocol, cast

from devices.device import Emit, Truth
from devices.drivers.settings import Settings
from devices.error_text import described
from devices.outcome import Outcome


class PythonDriver(Protocol):
    """A class that drives hardware. Its constructor opens the hardware, or raises OSError.

    It runs in the rig process. Calls come one at a time, from one thread, and are checked against the device
    type before they reach `execute`; `stop`, `standing` and `reset` may come from another thread meanwhile.
    """

    name: str
    """The device type's name."""
    firmware: str
    """Name and version of the hardware's software."""

    def execute(self, tool: str, arguments: Mapping[str, Any], stop: Event) -> Outcome:
        """Execute one call to its end; soon after `stop` is set, with status `fault` and code `stopped`."""

    def stop(self) -> None:
        """Send what stops the hardware at once, and do not wait. Raises OSError if it was not sent."""

    def standing(self) -> bool | None:
        """Ask the hardware whether it stands still, with all outputs off; None if it cannot be asked.

        Raises OSError if it does not answer. The kit asks after each stop.
        """

    def reset(self) -> None:
        """Leave the stop; the hardware stays at rest until a call changes it."""

    def init(self, state: Mapping[str, Any], seed: int) -> Outcome:
        """Set the initial state of what is simulated; `invalid` on hardware."""

    def subscribe(self, emit: Emit) -> None:
        """Deliver every later sample to `emit`."""

    def truth(self) -> Truth | None:
        """Return the ground truth now; None on hardware."""

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
        raise ValueError(f"{reference!r} cannot be imported ({described(error)})") from error
    if not isinstance(found, type):
        raise ValueError(f"{reference!r} is no class: write package.module:Class")
    lacking = [name for name in ("execute", "stop", "standing", "reset", "close") if not hasattr(found, name)]
    if lacking:
        raise ValueError(f"{reference!r} has no method {', '.join(lacking)}: see docs/drivers.md")
    return cast("PythonDriverClass", found)
