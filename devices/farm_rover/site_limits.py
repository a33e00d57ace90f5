"""Limits of a farm rover's site that the rover itself does not enforce."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from devices.farm_rover import tolerances, tools
from devices.farm_rover.world import FarmWorld, Plant
from devices.tool import Effect

WITH_NOBODY_NEAR = frozenset(
    tool.name for tool in tools.TOOLS if tool.effect is not Effect.READ and not tool.name.startswith("lock")
)
"""The tools that the rover must not use with a person near: all but the reads and the lock."""


class SiteLimits:
    """Limits of the site, by its layout and by the doses given so far.

    Args:
        world: the layout of the field; None if no file gives it: then only a person's nearness counts.
    """

    def __init__(self, world: FarmWorld | None) -> None:
        self.person_near = False
        """Whether the rover's own sensor reports a person near."""
        self._world = world
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

    def limit_violation(self, tool: str, arguments: Mapping[str, Any]) -> str | None:
        """Return a violated limit: a person near, the label, the soil's room, or a strip to keep out of."""
        if self.person_near and tool in WITH_NOBODY_NEAR:
            return "A person is near the rover. Wait until the person has gone."
        world = self._world
        if world is None:
            return None
        if tool == "move_to":
            return self._standing_in(world, arguments["x"], arguments["y"])
        plant = world.plants.get(arguments.get("plant_id", ""))
        if plant is not None:
            name = arguments["plant_id"]
            match tool:
                case "spray_pesticide":
                    return self._too_much_pesticide(name, plant, arguments["ml"])
                case "water_plant":
                    return self._too_much_water(world, name, plant, arguments["liters"])
                case "harvest_fruit":
                    return self._too_soon(name, plant)
        return None

    def _too_much_pesticide(self, name: str, plant: Plant, ml: float) -> str | None:
        dose = self._sprayed.get(name, 0.0) + ml
        if dose <= plant.pesticide_limit_ml + tolerances.LIMIT:
            return None
        return (
            f"{name} would get {dose:g} ml of pesticide in all, and the label allows "
            f"{plant.pesticide_limit_ml:g} ml. Spray less."
        )

    def _too_much_water(self, world: FarmWorld, name: str, plant: Plant, liters: float) -> str | None:
        dose, room = self._watered.get(name, 0.0) + liters, soil_room(world, plant)
        if dose <= room + tolerances.LIMIT:
            return None
        return (
            f"{name} would get {dose:g} L of water in all, and its soil takes {room:.3g} L at most "
            "before it drowns. Water less."
        )

    def _too_soon(self, name: str, plant: Plant) -> str | None:
        ago = self._now - self._sprayed_at.get(name, -math.inf)
        residue = self._sprayed.get(name, 0.0) >= plant.residue_ml
        if not residue or ago >= plant.pre_harvest_interval_s:
            return None
        return (
            f"{name} was sprayed {ago:.0f} s ago, and the label forbids a harvest for "
            f"{plant.pre_harvest_interval_s:g} s. Leave it."
        )

    @staticmethod
    def _standing_in(world: FarmWorld, x: float, y: float) -> str | None:
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
