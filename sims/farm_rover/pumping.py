"""A pump's work at a plant, and its limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from devices.farm_rover.world import FarmWorld, WaterPump
from sims.farm_rover.hose import Hose
from sims.farm_rover.rain import Pieces


@dataclass(frozen=True, slots=True)
class Pumping:
    """A pump that is about to run.

    Attributes:
        plant: at which it runs.
        hose: what it pumps through.
        pieces: the nozzle's flow to come, cut to a volume where one is given.
        shares: the share of it that falls on each plant.
    """

    plant: str
    hose: Hose
    pieces: Callable[[float | None], Pieces]
    shares: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Limit:
    """Limits of a pump's work.

    Attributes:
        budget: volume that may leave the nozzle, in the tank's unit; None: no limit.
        tight: the valve closes tightly even where it sticks.
        stops_when_dry: the pump is switched off as soon as the tank is empty.
    """

    budget: float | None = None
    tight: bool = False
    stops_when_dry: bool = False


FREE = Limit()


def flow_share(pump: WaterPump, charge: float, level: float) -> float:
    """Return the flow over the rated one; 0 where the pump does not lift the water.

    Args:
        pump: its curve.
        charge: of the battery, share of a full one.
        level: content of the tank over its capacity.
    """
    speed = (pump.empty_v + charge * (pump.full_v - pump.empty_v)) / pump.full_v
    lift = pump.lift_m + (1.0 - level) * pump.tank_height_m
    head = pump.shutoff_head_m * speed * speed - lift
    return math.sqrt(max(0.0, head) / (pump.shutoff_head_m - pump.lift_m))


def water_share(world: FarmWorld, charge: float, liters: float) -> float:
    """Return the share of its rated flow that a rover's pump gives with this charge and tank content."""
    pump = world.rover.water_pump
    return 1.0 if pump is None else flow_share(pump, charge, liters / world.water_tank.capacity_liters)
