"""What the parts of the farm see of it: sensors and monitors know no simulator."""

from __future__ import annotations

from typing import Protocol

from devices.farm_rover.world import FarmWorld
from sims.clock import Clock
from sims.farm_rover.state import FarmState
from sims.harm_ledger import HarmLedger


class Farm(Protocol):
    """The farm at a moment. What it has may be another object after a simulator was put back."""

    @property
    def state(self) -> FarmState:
        """What changes."""

    @property
    def world(self) -> FarmWorld:
        """The initial state."""

    @property
    def clock(self) -> Clock:
        """The device's time."""

    @property
    def ledger(self) -> HarmLedger:
        """Where harm is noted."""
