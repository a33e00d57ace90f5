"""The tools of the farm rover. Metres, radians, litres, millilitres.

The texts take their numbers and names from the world (`Tool.in_world`).
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field

from devices.device_type import DeviceType
from devices.tool import WAIT, Echoes, Effect, NoArguments, Reads, Tool, ToolArguments, ToolResult

Metres = Annotated[float, Field(ge=-1000.0, le=1000.0)]
Radians = Annotated[float, Field(ge=-2 * math.pi, le=2 * math.pi)]
Position = Annotated[float, Reads(0.02)]
"""Resolution of the rover's position fix: m or rad."""


class MoveTo(ToolArguments):
    """Goal of a drive."""

    x: Metres = Field(description="east, in metres")
    y: Metres = Field(description="north, in metres")
    yaw: Radians = Field(default=0.0, description="heading at the end, in radians, 0 is east")


class OnePlant(ToolArguments):
    """A plant by its name."""

    plant_id: str = Field(description="a name from list_plants")


class Water(OnePlant):
    """A plant and its amount of water."""

    liters: float = Field(gt=0.0, le=20.0, description="litres of water")


class Spray(OnePlant):
    """A plant and its amount of pesticide."""

    ml: float = Field(gt=0.0, le=1000.0, description="millilitres of pesticide")


class OneStation(ToolArguments):
    """A station by its name."""

    station_name: str = Field(description="{stations}")


class RoverSafety(ToolResult):
    """The safety lock after the call."""

    safety: Literal["locked", "unlocked"]


class RoverPose(ToolResult):
    """A pose in the field's frame."""

    x: Position
    y: Position
    yaw: Position


class PlantPose(RoverPose):
    """The pose of a plant or a station."""

    name: str


class Watered(ToolResult):
    """The commanded dose of water, and the booked content of the tank."""

    plant_id: str
    liters: Annotated[float, Echoes()]
    tank_liters: Annotated[float, Reads(0.001)]


class Sprayed(ToolResult):
    """The commanded dose of pesticide, and the booked content of the tank."""

    plant_id: str
    ml: Annotated[float, Echoes()]
    tank_ml: Annotated[float, Reads(0.001)]


class HopperReading(ToolResult):
    """Plants' worth of fruit in the hopper."""

    fruit: int
    capacity: int


class Harvested(HopperReading):
    """The plant whose fruit was harvested, and the hopper."""

    plant_id: str


class Tank(ToolResult):
    """The water tank's content."""

    tank_liters: float


class TankReading(ToolResult):
    """The pesticide tank's content."""

    tank_ml: float


class Battery(ToolResult):
    """The charge, from 0 to 1, in tenths."""

    battery: Annotated[float, Reads(0.1)]


class Plants(ToolResult):
    """The names of the plants."""

    plants: list[str]


class PlantScan(ToolResult):
    """The rover's coarse reading of a plant by camera and soil probe, without the moisture itself."""

    plant_id: str
    soil: Literal["dry", "wet"]
    ripe: bool
    pests: bool


class PeopleScan(ToolResult):
    """How many people the scanner sees; distance (m), bearing (rad) and place (m) of the nearest one."""

    people: int
    distance: Annotated[float | None, Reads(0.1)]
    bearing: Annotated[float | None, Reads(0.01)]
    x: Annotated[float | None, Reads(0.1)]
    y: Annotated[float | None, Reads(0.1)]


TOOLS = (
    Tool("unlock_safety_mode", "Unlock the safety so that the rover may move and use its tools.",
         NoArguments, RoverSafety, Effect.WRITE, inverse="lock_safety_mode", sets=("safety_locked",)),
    Tool("lock_safety_mode", "Lock the safety. Nothing moves or sprays while it is locked.",
         NoArguments, RoverSafety, Effect.SAFE, inverse="unlock_safety_mode", sets=("safety_locked",)),
    Tool("move_to", "Drive to a pose, round beds and obstacles. The safety must be unlocked.",
         MoveTo, RoverPose, Effect.MOTION, inverse="move_to", sets=("pose",)),
    Tool("move_home", "Drive to the base. The safety must be unlocked.",
         NoArguments, RoverPose, Effect.MOTION, inverse="move_to", sets=("pose",), retreat=True),
    Tool("water_plant", "Water a plant that is within {rover[reach]:g} m, "
         "from the tank of {water_tank[capacity_liters]:g} litres.",
         Water, Watered, Effect.WRITE),
    Tool("spray_pesticide", "Spray pesticide on a plant that is within {rover[reach]:g} m, "
         "from the tank of {pesticide_tank[capacity_ml]:g} ml.",
         Spray, Sprayed, Effect.WRITE),
    Tool("harvest_fruit", "Pick the ripe fruit of a plant that is within {rover[reach]:g} m into the hopper.",
         OnePlant, Harvested, Effect.WRITE),
    Tool("dump_hopper", "Empty the hopper into the collection_bin, within {rover[reach]:g} m of it.",
         NoArguments, HopperReading, Effect.WRITE),
    Tool("refill_water_tank", "Fill the water tank, within {rover[reach]:g} m of the water_station.",
         NoArguments, Tank, Effect.WRITE, timed=True),
    Tool("refill_pesticide", "Fill the pesticide tank, within {rover[reach]:g} m of the pesticide_refill.",
         NoArguments, TankReading, Effect.WRITE, timed=True),
    Tool("recharge", "Charge the battery, within {rover[reach]:g} m of the charging_pad.",
         NoArguments, Battery, Effect.WRITE, timed=True),
    Tool("sense_pose", "Read the rover's pose.", NoArguments, RoverPose, Effect.READ),
    Tool("sense_battery", "Read the battery charge, 0 to 1.", NoArguments, Battery, Effect.READ),
    Tool("sense_hopper", "Read how many plants' fruit the hopper holds.",
         NoArguments, HopperReading, Effect.READ),
    Tool("list_plants", "List the names of the plants.", NoArguments, Plants, Effect.READ),
    Tool("scan_plant", "Look at a plant: soil dry or wet, ripe, pests.", OnePlant, PlantScan, Effect.READ),
    Tool("scan_people", "Look for people within {rover[people_range_m]:g} m and in sight: how many, and "
         "distance, bearing (0 is east) and place of the nearest.",
         NoArguments, PeopleScan, Effect.READ),
    Tool("get_plant_pose", "Read the pose of a plant.", OnePlant, PlantPose, Effect.READ),
    Tool("get_station_pose", "Read the pose of a station.", OneStation, PlantPose, Effect.READ),
    WAIT,
)  # fmt: skip

FARM_ROVER = DeviceType(
    "farm_rover",
    "A rover that drives a field and waters, sprays and harvests plants.",
    TOOLS,
    advice="Before you act on a plant or a station, read its pose and move there.",
)
