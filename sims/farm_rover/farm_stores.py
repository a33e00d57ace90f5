"""The rover's battery and hopper as stores that a twin weighs apart, and the meters of what they get."""

from __future__ import annotations

import math
from collections.abc import Sequence

from devices.farm_rover.harm_rules import BATTERY_RESERVE, HOPPER_OVERFILL
from devices.farm_rover.world import FarmWorld
from devices.sensors import SampleValue, SensorSpec
from sims.farm_rover.fitted_sensors import DRAWN, HEAPED, HOPPER_BARRIER
from sims.stores import Store


def farm_stores(world: FarmWorld) -> Sequence[Store]:
    """Return battery and hopper; not one with a finer sensor, or on which something else depends."""
    specs, rover, hopper = world.sensors, world.rover, world.hopper
    found = []
    if rover.water_pump is None and specs.battery_gauge is None and _tells_changes(specs.battery):
        half = specs.battery.resolution / 2.0

        def charge_of(word: SampleValue) -> tuple[float, float]:
            charge = float(word)
            return (charge - half if charge > 0.0 else -math.inf), (
                charge + half if charge < 1.0 else math.inf
            )

        found.append(
            Store(
                "battery", ("battery",), ("draw",), True, DRAWN, {"battery": charge_of},
                BATTERY_RESERVE, rover.battery_reserve, ("sense_battery", "battery"),
                ("recharge", rover.charging_per_s), 1.0,
            )
        )  # fmt: skip
    if specs.fruit_scale is None and _tells_changes(specs.hopper_full):
        barrier = HOPPER_BARRIER * hopper.capacity

        def heap_of(word: SampleValue) -> tuple[float, float]:
            return (barrier, math.inf) if word else (-math.inf, barrier)

        holds = hopper.capacity * hopper.heaped_share
        found.append(
            Store(
                "hopper", (), ("fruit_size",), False, HEAPED, {"hopper_full": heap_of}, HOPPER_OVERFILL, holds
            )
        )
    return found


def _tells_changes(spec: SensorSpec) -> bool:
    """Return whether a sensor reports its changes at once, and exactly."""
    return spec.period is None and not (spec.noise or spec.delay or spec.bias or spec.drift)
