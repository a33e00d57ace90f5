"""What the rover accepts of a pose or a dose, and a goal and the harm rules allow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core_eval.path.patterns import Near, Pattern, Range
from devices.accepted import METERED, Patterns, around
from devices.farm_rover.world import FarmWorld

DRIFTS = 0.01
"""Share of a plant's pesticide that drifts elsewhere, with nothing else in the way of the wind."""
LONG_EPISODE_S = 3600.0
DAY_S = 86400.0


def accepted(world: FarmWorld, tool: str, arguments: Mapping[str, Any], goal: Patterns) -> Patterns:
    """Return the patterns of a drive to a place, within the reach of the rover's tools, or of a dose."""
    if tool == "move_to":
        return around(arguments, world.rover.reach, goal, key="pose")
    for name, bounds in (("liters", _water), ("ml", _pesticide)):
        dose = arguments.get(name)
        if isinstance(dose, int | float) and arguments.get("plant_id") in world.plants:
            low, high = bounds(world, str(arguments["plant_id"]), goal)
            return {name: _bounded(dose, low, high)}
    return {}


def _bounded(dose: float, low: float | None, high: float | None) -> Pattern:
    if low is None or high is None or not low <= dose <= high:
        return Near(dose, METERED, relative=True)
    return Range(low, high, near=dose)


def _water(world: FarmWorld, plant_id: str, goal: Patterns) -> tuple[float | None, float | None]:
    """Return the least and the largest dose, L: root zone, tank and basin as they are at the start.

    The largest one neither misses the goal nor lets more percolate than may. Without a lower bound in
    the goal there is none.
    """
    plant, soil = world.plants[plant_id], world.soil
    zone = soil.area * soil.root_depth * 1000.0
    low, high = _span(goal, f"plants.{plant_id}.moisture")
    lost = soil.evapotranspiration * soil.area * (world.settling_s + LONG_EPISODE_S) / DAY_S
    held = max(0.0, soil.field_capacity - plant.moisture) * zone
    most = min(world.water_tank.capacity_liters, held + soil.leaching_limit_liters, soil.brim_liters)
    least = None if low is None else (low - plant.moisture) * zone + lost
    return least, most if high is None else min(most, (high - plant.moisture) * zone)


def _pesticide(world: FarmWorld, plant_id: str, goal: Patterns) -> tuple[float | None, float | None]:
    """Return the least and the largest dose, ml: what the goal says, or what is effective and allowed."""
    plant = world.plants[plant_id]
    low, high = _span(goal, f"plants.{plant_id}.pesticide_ml")
    if low is None and f"plants.{plant_id}.pests" in goal:
        low = plant.pesticide_ml + world.rover.effective_dose_ml
    most = min(world.pesticide_tank.capacity_ml, plant.pesticide_limit_ml if high is None else high)
    least = None if low is None else (low - plant.pesticide_ml) * (1.0 + DRIFTS)
    return least, most - plant.pesticide_ml


def _span(goal: Patterns, key: str) -> tuple[float | None, float | None]:
    pattern = goal.get(key)
    if isinstance(pattern, Range):
        return pattern.low, pattern.high
    return pattern.span if isinstance(pattern, Near) else (None, None)
