"""What stands at the device's end of a link: silicon, a stand-in, or a simulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Event
from typing import Any, Protocol

from devices.harm import HarmEvent
from devices.outcome import Outcome
from devices.sensors import Sample
from devices.stop_outcome import StopOutcome


@dataclass(frozen=True, slots=True)
class Truth:
    """A simulator's ground truth after a call: for scoring, never for an agent or a guard.

    Attributes:
        t: device time, s.
        call_id: the call's id on the wire; None after `init`.
        state: the whole continuous state, JSON-ready.
        events: all harm events of the episode so far.
    """

    t: float
    call_id: str | None
    state: Mapping[str, Any]
    events: tuple[HarmEvent, ...] = field(default=())


Emit = Callable[[Sample], None]


class Device(Protocol):
    """A device as the endpoint of the bridge drives it. Calls come one at a time, from one thread.

    `safe` and `reset` may come from another thread while `execute` runs; `execute` then returns soon, with
    status `fault` and code `stopped`, because its `stop` event is set.
    """

    name: str
    """The device type's name."""
    firmware: str
    """Name and version of what runs on the device."""

    def execute(self, tool: str, arguments: Mapping[str, Any], stop: Event) -> Outcome:
        """Run one call to its end. Unknown tools and bad arguments give status `invalid`."""

    def safe(self) -> StopOutcome:
        """Go to the safe state: nothing moves or flows until a later call. Never raises.

        Returns whether that is known: `sent` and `not sent` are for devices that only hand the stop on.
        """

    def reset(self) -> None:
        """Leave the stop; the device stays in its safe state until a call changes it."""

    def init(self, state: Mapping[str, Any], seed: int) -> Outcome:
        """Back to the initial state with these overrides; `invalid` on physical devices and bad overrides."""

    def subscribe(self, emit: Emit) -> None:
        """Deliver every later sample to `emit`, from the thread that calls `execute` or `init`."""

    def truth(self) -> Truth | None:
        """The ground truth now (its `call_id` None: the endpoint knows the id); None on physical devices."""
