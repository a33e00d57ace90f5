"""A host's knowledge of a farm rover, and the interlocks and limits that it foresees."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from core_eval.path.calls import CallStatus
from devices.farm_rover import tools
from devices.farm_rover.interlocks import FARM_INTERLOCKS, RoverView
from devices.farm_rover.site_limits import SiteLimits
from devices.farm_rover.world import FarmWorld, Pose
from devices.known_state import KnownState, read_result
from devices.outcome import Outcome
from devices.sensors import Sample

POSE_DOUBT = 0.001
"""Rounding of a reported pose in x and y, m."""
SHOWN_HALF = 0.0005
"""Half of the last digit of a reported tank content, L or ml."""
BATTERY_HALF = 0.05
"""Half of the step of the reported charge."""

WATER_TOOLS = frozenset({"water_plant", "refill_water_tank"})
SPRAY_TOOLS = frozenset({"spray_pesticide", "refill_pesticide"})


class KnownFarmRover(KnownState):
    """The known state of a farm rover.

    Tanks and battery are upper bounds: between two reports of the rover they only decrease.

    Args:
        world: the layout of the field (plants, stations, sizes, capacities); None if no file gives it.
        initial: the rover was just put into that world's initial state.
    """

    interlocks = FARM_INTERLOCKS
    _locked: bool | None
    _pose: Pose | None
    _water: float | None
    _pesticide: float | None
    _battery: float | None
    _hopper: tools.Hopper | None
    _bare: set[str]
    """Plants without ripe fruit at the last report: some may ripen while the next call lasts."""

    def __init__(self, world: FarmWorld | None = None, initial: bool = False) -> None:
        self._world = world
        self._forget()
        self._since = 0.0
        self._limits = SiteLimits(world)
        if world is not None and initial:
            self._locked = world.safety_locked
            self._pose = world.pose
            self._water = world.water_tank.liters
            self._pesticide = world.pesticide_tank.ml
            self._battery = world.battery
            self._hopper = tools.Hopper(fruit=world.hopper.fruit, capacity=world.hopper.capacity)

    def _forget(self) -> None:
        self._locked = self._pose = self._battery = self._hopper = None
        self._water = self._pesticide = None
        self._bare = set()
        if self._world is not None:
            self._water = self._world.water_tank.capacity_liters
            self._pesticide = self._world.pesticide_tank.capacity_ml

    def view(self) -> RoverView:
        """Return the known state: no route is shorter than the straight one."""
        hopper = self._hopper
        return RoverView(
            world=self._world,
            locked=self._locked,
            pose=self._pose,
            pose_doubt=POSE_DOUBT,
            water=self._water,
            pesticide=self._pesticide,
            tank_doubt=SHOWN_HALF,
            battery=self._battery,
            ripe=dict.fromkeys(self._bare, False),
            fruit=None if hopper is None else hopper.fruit,
            capacity=None if hopper is None else hopper.capacity,
            drive_charge=self._least_charge,
        )

    def _least_charge(self, goal: Pose) -> float | None:
        if self._world is None or self._pose is None:
            return None
        apart = math.hypot(goal.x - self._pose.x, goal.y - self._pose.y) - POSE_DOUBT
        return max(0.0, apart) * self._world.rover.drive_charge_per_m

    def limit_violation(self, tool: str, arguments: Mapping[str, Any]) -> str | None:
        """Return the limit of the site that the call would violate."""
        return self._limits.limit_violation(tool, arguments)

    # Knowledge from calls.

    def on_outcome(self, tool: str, arguments: Mapping[str, Any], outcome: Outcome) -> None:
        """Update the knowledge by a result; after a fault only the layout is known."""
        if outcome.status == CallStatus.REJECTED and outcome.code == "safety_locked":
            self._locked = True
        if outcome.status in (CallStatus.REJECTED, CallStatus.INVALID):
            return
        self._since = max(self._since, outcome.t)
        self._bare = set()
        self._limits.made(tool, arguments, self._since)
        if outcome.status != CallStatus.OK:
            self._forget()
            return
        result = read_result(tools.FARM_ROVER.by_name[tool].result, outcome)
        self._note_effects(tool, arguments)
        match result:
            case tools.SafetyState():
                self._locked = result.safety == "locked"
            case tools.NamedPose():
                pass
            case tools.Pose():
                self._pose = Pose(x=result.x, y=result.y, yaw=result.yaw)
            case tools.Watered() | tools.Tank():
                self._water = result.tank_liters
            case tools.Sprayed() | tools.PesticideTank():
                self._pesticide = result.tank_ml
            case tools.Battery():
                full = tool == "recharge"
                self._battery = result.battery if full else min(1.0, result.battery + BATTERY_HALF)
            case tools.Hopper():
                self._hopper = tools.Hopper(fruit=result.fruit, capacity=result.capacity)
            case tools.PlantScan() if not result.ripe:
                self._bare = {result.plant_id}

    def _note_effects(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """Note the effects of a call, whether or not its result is readable."""
        if tool in ("move_to", "move_home"):
            self._pose = None
        elif tool in ("lock_safety_mode", "unlock_safety_mode"):
            self._locked = None
        elif tool == "recharge":
            self._battery = None
        elif tool in WATER_TOOLS:
            self._water = None if self._world is None else self._world.water_tank.capacity_liters
        elif tool in SPRAY_TOOLS:
            self._pesticide = None if self._world is None else self._world.pesticide_tank.capacity_ml
        elif tool in ("harvest_fruit", "dump_hopper"):
            self._hopper = None
            if tool == "harvest_fruit":
                self._bare = {arguments["plant_id"]}

    def on_sample(self, sample: Sample) -> None:
        """Note a person near; discard what a sensor contradicts, such as a tank filled by hand."""
        if sample.sensor == "person_near":
            self._limits.person_near = sample.value is True
        if self._world is None or sample.t <= self._since or sample.value is not False:
            return
        sensors = self._world.sensors
        if sample.sensor == "water_tank_low" and self._water is not None:
            if self._water < (sensors.water_tank_low.threshold or 0.0):
                self._water = self._world.water_tank.capacity_liters
        elif sample.sensor == "pesticide_tank_low" and self._pesticide is not None:
            if self._pesticide < (sensors.pesticide_tank_low.threshold or 0.0):
                self._pesticide = self._world.pesticide_tank.capacity_ml
        elif (
            sample.sensor == "hopper_full"
            and self._hopper is not None
            and self._hopper.fruit >= self._hopper.capacity
        ):
            self._hopper = None
