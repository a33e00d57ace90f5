"""A host's knowledge of a farm rover, and the interlocks and limits that it foresees."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from core_eval.call_status import CallStatus
from devices.farm_rover import tools
from devices.farm_rover.interlocks import FARM_INTERLOCKS, RoverView, goal_of_move, goal_of_return
from devices.farm_rover.site_limits import SiteLimits
from devices.farm_rover.world import FarmWorld, Pose, distance
from devices.known_state import KnownState, read_result
from devices.outcome import Outcome
from devices.sensors import Sample
from devices.tool import Effect

POSE_DOUBT = 0.001
"""Rounding of a reported pose in x and y, m."""
SHOWN_HALF = 0.0005
"""Half of the last digit of a reported tank content, L or ml."""
BATTERY_HALF = 0.05
"""Half of the step of the reported charge."""

AFFECTED = {
    "move_to": ("pose",),
    "move_home": ("pose",),
    "lock_safety_mode": ("locked",),
    "unlock_safety_mode": ("locked",),
    "recharge": ("battery",),
    "water_plant": ("water",),
    "refill_water_tank": ("water",),
    "spray_pesticide": ("pesticide",),
    "refill_pesticide": ("pesticide",),
    "harvest_fruit": ("fruit", "capacity"),
    "dump_hopper": ("fruit", "capacity"),
}
"""The parts of a `RoverView` that a tool changes."""
WITHOUT_PERSON = frozenset(tool.name for tool in tools.TOOLS if tool.effect not in (Effect.READ, Effect.SAFE))
"""The tools that the rover must not use with a person near: all but the reads and the lock."""


class KnownFarmRover(KnownState):
    """The known state of a farm rover.

    Tanks and battery are upper bounds: between two reports of the rover they only decrease.

    Args:
        world: the layout of the field (plants, stations, sizes, capacities); None if no file gives it.
        initial: the rover was just put into that world's initial state.
    """

    interlocks = FARM_INTERLOCKS

    def __init__(self, world: FarmWorld | None = None, initial: bool = False) -> None:
        self._world = world
        self._since = 0.0
        self._limits = None if world is None else SiteLimits(world)
        self._person_near = False
        self._seen: Pose | None = None
        self._unknown = RoverView(
            world=world,
            pose_doubt=POSE_DOUBT,
            water=None if world is None else world.water_tank.capacity_liters,
            pesticide=None if world is None else world.pesticide_tank.capacity_ml,
            tank_doubt=SHOWN_HALF,
            drive_charge=self._least_charge,
        )
        self._rover = self._unknown
        if world is not None and initial:
            self._rover = replace(
                self._unknown,
                locked=world.safety_locked,
                pose=world.pose,
                water=world.water_tank.liters,
                pesticide=world.pesticide_tank.ml,
                battery=world.battery,
                fruit=world.hopper.fruit,
                capacity=world.hopper.capacity,
            )

    def view(self) -> RoverView:
        """Return the known state; `ripe` is that of the last report, since fruit may ripen during a call."""
        return self._rover

    def _least_charge(self, goal: Pose) -> float | None:
        """Return the charge for the straight way: no route is shorter."""
        if self._world is None or self._rover.pose is None:
            return None
        apart = math.hypot(goal.x - self._rover.pose.x, goal.y - self._rover.pose.y) - POSE_DOUBT
        return max(0.0, apart) * self._world.rover.drive_charge_per_m

    def limit_violation(self, tool: str, arguments: Mapping[str, Any]) -> str | None:
        """Return a violated limit: a person near, the label, the soil's room, or a strip to keep out of."""
        if self._person_near and tool in WITHOUT_PERSON:
            return "A person is near the rover. Wait until the person has gone."
        if self._world is None or self._limits is None:
            return None
        if self._seen is not None and tool in WITHOUT_PERSON:
            person = self._world.person
            least = person.spray_m if tool == "spray_pesticide" else person.near_m
            # Here, or at the goal of a drive.
            goal = {"move_to": goal_of_move, "move_home": goal_of_return}.get(tool)
            places = [self._rover.pose, None if goal is None else goal(self._world, arguments)]
            if any(place is not None and distance(place, self._seen) < least for place in places):
                return "A person was seen near. Wait, and call scan_people again until the person has gone."
        if tool == "move_to":
            return self._limits.standing_in(arguments["x"], arguments["y"])
        plant = arguments.get("plant_id", "")
        if plant in self._world.plants:
            match tool:
                case "spray_pesticide":
                    return self._limits.too_much_pesticide(plant, arguments["ml"])
                case "water_plant":
                    return self._limits.too_much_water(plant, arguments["liters"])
                case "harvest_fruit":
                    return self._limits.too_soon(plant)
        return None

    # Knowledge from calls.

    def on_outcome(self, tool: str, arguments: Mapping[str, Any], outcome: Outcome) -> None:
        """Update the knowledge by a result; after a fault only the layout is known."""
        if outcome.status == CallStatus.REJECTED and outcome.code == "safety_locked":
            self._rover = replace(self._rover, locked=True)
        if outcome.status in (CallStatus.REJECTED, CallStatus.INVALID):
            return
        self._since = max(self._since, outcome.t)
        if self._limits is not None:
            self._limits.made(tool, arguments, self._since)
        if outcome.status != CallStatus.OK:
            self._rover = self._unknown
            return
        # What the call changed is unknown, unless its result can be read and states it.
        news: dict[str, Any] = {part: getattr(self._unknown, part) for part in AFFECTED.get(tool, ())}
        news["ripe"] = {arguments["plant_id"]: False} if tool == "harvest_fruit" else {}
        result = read_result(tools.FARM_ROVER.by_name[tool].result, outcome)
        match result:
            case tools.RoverSafety():
                news["locked"] = result.safety == "locked"
            case tools.PlantPose():
                pass
            case tools.RoverPose():
                news["pose"] = Pose(x=result.x, y=result.y, yaw=result.yaw)
            case tools.Watered() | tools.Tank():
                news["water"] = result.tank_liters
            case tools.Sprayed() | tools.TankReading():
                news["pesticide"] = result.tank_ml
            case tools.Battery():
                full = tool == "recharge"
                news["battery"] = result.battery if full else min(1.0, result.battery + BATTERY_HALF)
            case tools.HopperReading():
                news |= {"fruit": result.fruit, "capacity": result.capacity}
            case tools.PeopleScan(x=x, y=y):
                self._seen = None if x is None or y is None else Pose(x=x, y=y)
            case tools.PlantScan() if not result.ripe:
                news["ripe"] = {result.plant_id: False}
        self._rover = replace(self._rover, **news)

    def on_sample(self, sample: Sample) -> None:
        """Note a person near; discard what a sensor contradicts, such as a tank filled by hand."""
        if sample.sensor == "person_near":
            self._person_near = sample.value is True
        if self._world is None or sample.t <= self._since or sample.value is not False:
            return
        rover, sensors = self._rover, self._world.sensors
        if sample.sensor == "water_tank_low" and rover.water is not None:
            if rover.water < (sensors.water_tank_low.threshold or 0.0):
                self._rover = replace(rover, water=self._unknown.water)
        elif sample.sensor == "pesticide_tank_low" and rover.pesticide is not None:
            if rover.pesticide < (sensors.pesticide_tank_low.threshold or 0.0):
                self._rover = replace(rover, pesticide=self._unknown.pesticide)
        elif (
            sample.sensor == "hopper_full"
            and rover.fruit is not None
            and rover.capacity is not None
            and rover.fruit >= rover.capacity
        ):
            self._rover = replace(rover, fruit=None, capacity=None)
