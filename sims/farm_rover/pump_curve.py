"""Flow of a centrifugal pump on a battery, as a share of its rated flow.

The pump's head is H = H0 v^2 - c Q^2 (a quadratic curve, scaled by the affinity laws: flow goes with the
speed and head with its square; Karassik et al., Pump Handbook, chapter 2). The speed of a permanent-magnet
motor goes with its voltage: v is the battery's over that of a full one. Hose and nozzle need H = z + r Q^2 to
lift water by z (turbulent loss, Darcy-Weisbach). So Q^2 = (H0 v^2 - z)/(c + r), and a rated point (full
battery, full tank) gives c + r.
"""

from __future__ import annotations

import math

from devices.farm_rover.world import FarmWorld, WaterPump


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
