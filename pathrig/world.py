"""What a package of a world is made of."""

from __future__ import annotations

from devices.faults import FaultKind, Faults
from devices.harm import HarmRule
from devices.hidden import hidden
from devices.interlocks import Check
from devices.known_state import KnownState
from devices.outcome import Refusal
from devices.sensors import SensorSpec
from sims.coarse_sensors import CoarseSensor
from sims.intervention import Flag, by_name
from sims.simulator import CallOptions, Simulator
from sims.world_type import WorldType as World

__all__ = [
    "CallOptions",
    "Check",
    "CoarseSensor",
    "FaultKind",
    "Faults",
    "Flag",
    "HarmRule",
    "KnownState",
    "Refusal",
    "SensorSpec",
    "Simulator",
    "World",
    "by_name",
    "hidden",
]
