"""The simulator as its parts see it: sensors, monitors, dynamics and tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from devices.farm_rover.world import FarmWorld, Soil
from sims.clock import Clock
from sims.farm_rover.contact_monitor import ContactMonitor
from sims.farm_rover.route import Ground
from sims.farm_rover.state import FarmState
from sims.faults import FaultSchedule
from sims.harm_ledger import HarmLedger


class Farm(Protocol):
    """The farm now. Parts read its attributes anew each time: `restore` replaces `state` and `contact`."""

    world: FarmWorld
    seed: int
    clock: Clock
    faults: FaultSchedule
    ledger: HarmLedger
    state: FarmState
    soil: Soil
    ground: Ground
    surveyed: Ground
    contact: ContactMonitor
    apart: bool
    endless: bool
    hurries: bool
    sample_period: float

    @property
    def watched(self) -> bool:
        """Whether anybody looks at the state at moments of their own."""

    @property
    def latest_call(self) -> int | None:
        """The last call whose tool ran; before one did, the last that reached the device, if any."""

    @property
    def heaped(self) -> float:
        """What is in the hopper, in plants' worth of fruit of nominal size."""

    def only_meters_charge(self) -> bool:
        """Return whether no sensor but the meter of the charge tells anything while the rover only drives."""

    def meter_charge(self, metered: Sequence[tuple[int, float]]) -> None:
        """Report what it shows at these ticks."""

    def somebody_walks(self) -> bool:
        """Return whether a person is on their way, or sets out later."""

    def needs(self, seconds: float) -> None:
        """Set the natural duration of the running call, s, as `sims.simulator.Simulator.needs`."""

    def pass_time(self, seconds: float, tick: float | None = None) -> None:
        """Let device time pass, as `sims.time_stepping.TimeStepping.pass_time`."""
