"""The device at the far end of a link: hardware, a stand-in, or a simulator."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Event
from typing import Any, Protocol

from devices.outcome import Outcome, StopOutcome
from devices.sensors import Emit, Truth


class ToolRunner(Protocol):
    """What devices and drivers in Python share. Calls come one at a time, from one thread.

    What stops it, and `reset`, may come from another thread while `execute` runs; `execute` then returns
    soon, with status `fault` and code `stopped`, because its `stop` event is set.
    """

    name: str
    """The device type's name."""
    firmware: str
    """Name and version of the device's software."""

    def execute(self, tool: str, arguments: Mapping[str, Any], stop: Event) -> Outcome:
        """Execute one call to its end. Unknown tools and bad arguments give status `invalid`."""

    def reset(self) -> None:
        """Leave the stop; the device stays in its safe state until a call changes it."""

    def init(self, state: Mapping[str, Any], seed: int) -> Outcome:
        """Set the initial state with these overrides; `invalid` on physical devices and for bad overrides."""

    def subscribe(self, emit: Emit) -> None:
        """Deliver every later sample to `emit`, from the thread that calls `execute` or `init`."""

    def truth(self) -> Truth | None:
        """Return the ground truth now (`call_id` is None: the endpoint sets it); None on physical devices."""


class Device(ToolRunner, Protocol):
    """A device as the endpoint of the bridge drives it."""

    def safe(self) -> StopOutcome:
        """Go to the safe state: nothing moves or flows until a later call. Never raises.

        Return what is known of it: `sent` and `not sent` are for devices that only forward the stop.
        """
