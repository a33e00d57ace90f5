"""The farm rover's interlocks: what must hold before a tool acts. A `Refusal` advises a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from devices.farm_rover import tolerances
from devices.farm_rover.world import FarmWorld, Pose, distance
from devices.interlocks import Check, Interlocks
from devices.outcome import Refusal

STATION_OF = {
    "dump_hopper": "collection_bin",
    "refill_water_tank": "water_station",
    "refill_pesticide": "pesticide_refill",
    "recharge": "charging_pad",
}
"""The station at which each of these tools works."""


@dataclass(frozen=True)
class RoverView:
    """The state of a rover that its interlocks check; None: not known.

    Attributes:
        world: the layout of the field, and the rover's sizes.
        pose_doubt: uncertainty of the pose, m.
        water, pesticide: booked contents of the tanks, L and ml.
        tank_doubt: by how much these may be too low, in that unit.
        battery: the share of a full charge.
        ripe: plants to whether they bear ripe fruit, where known.
        fruit, capacity: of the hopper.
        has_route: returns whether there is a route from here to a pose.
        drive_charge: returns the share of a full charge that the drive to a pose takes.
    """

    world: FarmWorld | None
    locked: bool | None = None
    pose: Pose | None = None
    pose_doubt: float = 0.0
    water: float | None = None
    pesticide: float | None = None
    tank_doubt: float = 0.0
    battery: float | None = None
    ripe: Mapping[str, bool] = field(default_factory=dict)
    fruit: int | None = None
    capacity: int | None = None
    has_route: Callable[[Pose], bool] | None = None
    drive_charge: Callable[[Pose], float | None] | None = None


_Arguments = Mapping[str, Any]


def _unlocked(rover: RoverView, _: _Arguments) -> None:
    if rover.locked:
        raise Refusal("safety_locked", "The safety is locked. Call unlock_safety_mode first.")


def _known(kind: Literal["plant", "station"]) -> Check[RoverView]:
    argument = "plant_id" if kind == "plant" else "station_name"

    def refuse(rover: RoverView, arguments: _Arguments) -> None:
        if rover.world is None:
            return
        places = rover.world.plants if kind == "plant" else rover.world.stations
        name = arguments[argument]
        if name not in places:
            names = ", ".join(places) or "none"
            raise Refusal(f"unknown_{kind}", f"There is no {kind} {name!r}. The {kind}s are: {names}.")

    return Check(f"known_{kind}", refuse, always=True)


def _in_reach(station: str | None = None) -> Check[RoverView]:
    """Return the check that a station, or the call's plant, is within reach."""

    def refuse(rover: RoverView, arguments: _Arguments) -> None:
        if rover.world is None or rover.pose is None:
            return
        name = station or arguments["plant_id"]
        place = rover.world.plants[name] if station is None else rover.world.stations[name]
        apart, reach = distance(rover.pose, place), rover.world.rover.reach
        if apart > reach + rover.pose_doubt + tolerances.LIMIT:
            raise Refusal(
                "too_far",
                f"{name} is {apart:.2f} m away and must be within {reach:g} m. "
                f"Call move_to with x {place.x:g} and y {place.y:g} first.",
            )

    return Check("within_reach", refuse)


def _pump(
    tank: Literal["water", "pesticide"], dose: str, unit: str, refill: str
) -> tuple[Check[RoverView], ...]:
    """Return the checks of the tank and of the charge for a dose, which is the argument `dose`."""
    advice = f"Move to the {STATION_OF[refill]} and call {refill}."

    def enough_in_tank(rover: RoverView, arguments: _Arguments) -> None:
        content, wanted = rover.water if tank == "water" else rover.pesticide, arguments[dose]
        if content is not None and wanted > content + max(rover.tank_doubt, tolerances.LIMIT):
            raise Refusal(
                "tank_empty" if content <= tolerances.LIMIT else "not_enough_in_tank",
                f"The {tank} tank holds {content:.3g} {unit}, less than {wanted:.3g} {unit}. "
                f"Nothing was pumped. {advice}",
            )

    def enough_charge(rover: RoverView, arguments: _Arguments) -> None:
        if rover.world is not None:
            body = rover.world.rover
            flow = body.water_flow if tank == "water" else body.pesticide_flow
            _require_charge(rover, arguments[dose] / flow * body.pump_charge_per_s)

    return Check(f"enough_{tank}", enough_in_tank), Check(f"charge_for_{tank}", enough_charge)


def _require_charge(rover: RoverView, needed: float) -> None:
    if rover.battery is not None and needed > rover.battery + tolerances.LIMIT:
        raise Refusal(
            "battery_low",
            f"The battery is at {rover.battery:.3f}, and this needs {needed:.3f}. "
            "Move to the charging_pad and call recharge.",
        )


def _ripe_fruit(rover: RoverView, arguments: _Arguments) -> None:
    name = arguments["plant_id"]
    if not rover.ripe.get(name, True):
        raise Refusal("not_ripe", f"{name} has no ripe fruit. Choose another plant.")


def _room_in_hopper(rover: RoverView, _: _Arguments) -> None:
    if rover.fruit is not None and rover.capacity is not None and rover.fruit >= rover.capacity:
        raise Refusal(
            "hopper_full", "The hopper is full. Move to the collection_bin and call dump_hopper first."
        )


def _drive(goal_of: Callable[[FarmWorld, _Arguments], Pose]) -> tuple[Check[RoverView], ...]:
    """Return the checks of a drive to a goal."""

    def inside_field(rover: RoverView, arguments: _Arguments) -> None:
        if rover.world is None:
            return
        goal, field = goal_of(rover.world, arguments), rover.world.field
        if not (0.0 <= goal.x <= field.width and 0.0 <= goal.y <= field.height):
            raise Refusal(
                "outside_field",
                f"({goal.x:g}, {goal.y:g}) is outside the field. x must be from 0 to {field.width:g} "
                f"and y from 0 to {field.height:g}.",
            )

    def has_route(rover: RoverView, arguments: _Arguments) -> None:
        if rover.world is None or rover.has_route is None:
            return
        goal = goal_of(rover.world, arguments)
        if not rover.has_route(goal):
            raise Refusal(
                "no_route", f"There is no way to ({goal.x:g}, {goal.y:g}) round the beds and obstacles."
            )

    def enough_charge(rover: RoverView, arguments: _Arguments) -> None:
        if rover.world is None or rover.drive_charge is None:
            return
        needed = rover.drive_charge(goal_of(rover.world, arguments))
        if needed is not None:
            _require_charge(rover, needed)

    return (
        UNLOCKED,
        Check("inside_field", inside_field),
        Check("has_route", has_route),
        Check("charge_for_drive", enough_charge),
    )


def goal_of_move(_: FarmWorld, arguments: _Arguments) -> Pose:
    """Return the goal of `move_to`."""
    return Pose(x=arguments["x"], y=arguments["y"], yaw=arguments["yaw"])


def goal_of_return(world: FarmWorld, _: _Arguments) -> Pose:
    """Return the goal of `move_home`."""
    return world.stations["base"]


UNLOCKED = Check("unlocked", _unlocked)
KNOWN_PLANT = _known("plant")
PLANT_IN_REACH = (KNOWN_PLANT, UNLOCKED, _in_reach())

FARM_INTERLOCKS: Interlocks[RoverView] = {
    "move_to": _drive(goal_of_move),
    "move_home": _drive(goal_of_return),
    "water_plant": (*PLANT_IN_REACH, *_pump("water", "liters", "L", "refill_water_tank")),
    "spray_pesticide": (*PLANT_IN_REACH, *_pump("pesticide", "ml", "ml", "refill_pesticide")),
    "harvest_fruit": (
        *PLANT_IN_REACH,
        Check("ripe_fruit", _ripe_fruit),
        Check("room_in_hopper", _room_in_hopper),
    ),
    **{tool: (UNLOCKED, _in_reach(station)) for tool, station in STATION_OF.items()},
    "scan_plant": (KNOWN_PLANT,),
    "get_plant_pose": (KNOWN_PLANT,),
    "get_station_pose": (_known("station"),),
}
"""Each tool's checks, in the rover's order; simulator, host and board share them."""
