"""Limits of a farm rover's site that the rover itself does not enforce."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from devices.farm_rover import tolerances
from devices.farm_rover.world import FarmWorld, Plant


class SiteLimits:
    """Limits of the site, by its layout and by the doses given so far; a violated one is one line."""

    def __init__(self, world: FarmWorld) -> None:
        self._world = world
        self._room = {name: soil_room(world, plant) for name, plant in world.plants.items()}
        self._now = 0.0
        self._watered: dict[str, float] = {}
        self._sprayed: dict[str, float] = {}
        self._sprayed_at: dict[str, float] = {}

    def made(self, tool: str, arguments: Mapping[str, Any], t: float) -> None:
        """Record a call that was executed, or broke off, and ended at device time `t`, s."""
        self._now = t
        # A call that broke off may have pumped all of its dose: the safe assumption.
        doses = {"water_plant": (self._watered, "liters"), "spray_pesticide": (self._sprayed, "ml")}
        if tool in doses:
            given, argument = doses[tool]
            name = arguments["plant_id"]
            given[name] = given.get(name, 0.0) + arguments[argument]
            if tool == "spray_pesticide":
                self._sprayed_at[name] = t

    def too_much_pesticide(self, name: str, ml: float) -> str | None:
        """Return how the plant's pesticide would exceed the label's dose."""
        dose, plant = self._sprayed.get(name, 0.0) + ml, self._world.plants[name]
        if dose <= plant.pesticide_limit_ml + tolerances.LIMIT:
            return None
        return (
            f"{name} would get {dose:g} ml of pesticide in all, and the label allows "
            f"{plant.pesticide_limit_ml:g} ml. Spray less."
        )

    def too_much_water(self, name: str, liters: float) -> str | None:
        """Return how the plant's water would exceed what its soil takes."""
        dose, room = self._watered.get(name, 0.0) + liters, self._room[name]
        if dose <= room + tolerances.LIMIT:
            return None
        return (
            f"{name} would get {dose:g} L of water in all, and its soil takes {room:.3g} L at most "
            "before it is waterlogged. Water less."
        )

    def too_soon(self, name: str) -> str | None:
        """Return how a harvest now would break the label's interval."""
        plant = self._world.plants[name]
        ago = self._now - self._sprayed_at.get(name, -math.inf)
        residue = self._sprayed.get(name, 0.0) >= plant.residue_ml
        if not residue or ago >= plant.pre_harvest_interval_s:
            return None
        return (
            f"{name} was sprayed {ago:.0f} s ago, and the label forbids a harvest for "
            f"{plant.pre_harvest_interval_s:g} s. Leave it."
        )

    def standing_in(self, x: float, y: float) -> str | None:
        """Return what a rover at this place would overlap: an obstacle, a bed, or a strip to keep out of."""
        world = self._world
        gaps = {name: math.hypot(x - o.x, y - o.y) - o.radius for name, o in world.obstacles.items()}
        for name, bed in {**world.beds, **world.keep_out}.items():
            aside = max(bed.x_min - x, 0.0, x - bed.x_max)
            gaps[name] = math.hypot(aside, max(bed.y_min - y, 0.0, y - bed.y_max))
        for name, gap in gaps.items():
            if gap < world.rover.radius - tolerances.LIMIT:
                return (
                    f"({x:g}, {y:g}) is {max(gap, 0.0):.2f} m from {name}, and the rover needs "
                    f"{world.rover.radius:g} m. Choose another place."
                )
        return None


def soil_room(world: FarmWorld, plant: Plant) -> float:
    """Return the water that takes a plant's soil from its driest state to the plant's limit, L."""
    share = world.soil.limit_of(plant) - world.soil.wilting_point
    return max(0.0, share) * world.soil.area * world.soil.root_depth * 1000.0
