"""The farm rover's interlocks: what must hold before a tool acts. A `Refusal` advises a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

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


def _unknown(_: Pose) -> None:
    return None


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
    has_route: Callable[[Pose], bool | None] = _unknown
    drive_charge: Callable[[Pose], float | None] = _unknown


_Arguments = Mapping[str, Any]


def _unlocked(rover: RoverView, _: _Arguments) -> None:
    if rover.locked:
        raise Refusal("safety_locked", "The safety is locked. Call unlock_safety_mode first.")


def _known_plant(rover: RoverView, arguments: _Arguments) -> None:
    name = arguments["plant_id"]
    if rover.world is not None and name not in rover.world.plants:
        names = ", ".join(rover.world.plants) or "none"
        raise Refusal("unknown_plant", f"There is no plant {name!r}. The plants are: {names}.")


def _known_station(rover: RoverView, arguments: _Arguments) -> None:
    name = arguments["station_name"]
    if rover.world is not None and name not in rover.world.stations:
        names = ", ".join(rover.world.stations)
        raise Refusal("unknown_station", f"There is no station {name!r}. The stations are: {names}.")


def _plant_in_reach(rover: RoverView, arguments: _Arguments) -> None:
    if rover.world is not None:
        name = arguments["plant_id"]
        _within_reach(rover, name, rover.world.plants[name], rover.world.rover.reach)


def _station_in_reach(station: str) -> Check[RoverView]:
    def refuse(rover: RoverView, _: _Arguments) -> None:
        if rover.world is not None:
            _within_reach(rover, station, rover.world.stations[station], rover.world.rover.reach)

    return Check("within_reach", refuse)


def _within_reach(rover: RoverView, name: str, place: Pose, reach: float) -> None:
    if rover.pose is None:
        return
    apart = distance(rover.pose, place)
    if apart > reach + rover.pose_doubt + tolerances.LIMIT:
        raise Refusal(
            "too_far",
            f"{name} is {apart:.2f} m away and must be within {reach:g} m. "
            f"Call move_to with x {place.x:g} and y {place.y:g} first.",
        )


def _enough_water(rover: RoverView, arguments: _Arguments) -> None:
    text = "Move to the water_station and call refill_water_tank."
    _enough_in_tank(rover.water, rover.tank_doubt, arguments["liters"], ("water", "L"), text)


def _enough_pesticide(rover: RoverView, arguments: _Arguments) -> None:
    text = "Move to the pesticide_refill and call refill_pesticide."
    _enough_in_tank(rover.pesticide, rover.tank_doubt, arguments["ml"], ("pesticide", "ml"), text)


def _enough_in_tank(
    content: float | None, doubt: float, wanted: float, what: tuple[str, str], advice: str
) -> None:
    if content is None or wanted <= content + max(doubt, tolerances.LIMIT):
        return
    name, unit = what
    raise Refusal(
        "tank_empty" if content <= tolerances.LIMIT else "not_enough_in_tank",
        f"The {name} tank holds {content:.3g} {unit}, less than {wanted:.3g} {unit}. Nothing was pumped. "
        + advice,
    )


def _charge_for_water(rover: RoverView, arguments: _Arguments) -> None:
    if rover.world is not None:
        _enough_for_pump(rover, rover.world, arguments["liters"] / rover.world.rover.water_flow)


def _charge_for_pesticide(rover: RoverView, arguments: _Arguments) -> None:
    if rover.world is not None:
        _enough_for_pump(rover, rover.world, arguments["ml"] / rover.world.rover.pesticide_flow)


def _enough_for_pump(rover: RoverView, world: FarmWorld, seconds: float) -> None:
    _enough_charge(rover.battery, seconds * world.rover.pump_charge_per_s)


def _enough_charge(battery: float | None, needed: float) -> None:
    if battery is not None and needed > battery + tolerances.LIMIT:
        raise Refusal(
            "battery_low",
            f"The battery is at {battery:.3f}, and this needs {needed:.3f}. "
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
        world = rover.world
        goal = None if world is None else goal_of(world, arguments)
        if world is not None and goal is not None and not world.contains(goal.x, goal.y):
            raise Refusal(
                "outside_field",
                f"({goal.x:g}, {goal.y:g}) is outside the field. x must be from 0 to {world.field.width:g} "
                f"and y from 0 to {world.field.height:g}.",
            )

    def has_route(rover: RoverView, arguments: _Arguments) -> None:
        goal = None if rover.world is None else goal_of(rover.world, arguments)
        if goal is not None and rover.has_route(goal) is False:
            raise Refusal(
                "no_route", f"There is no way to ({goal.x:g}, {goal.y:g}) round the beds and obstacles."
            )

    def enough_charge(rover: RoverView, arguments: _Arguments) -> None:
        needed = None if rover.world is None else rover.drive_charge(goal_of(rover.world, arguments))
        if needed is not None:
            _enough_charge(rover.battery, needed)

    return (
        UNLOCKED,
        Check("inside_field", inside_field),
        Check("has_route", has_route),
        Check("charge_for_drive", enough_charge),
    )


def goal_of_move(_: FarmWorld, arguments: _Arguments) -> Pose:
    """Return the goal of `move_to`."""
    return Pose(x=arguments["x"], y=arguments["y"], yaw=arguments["yaw"])


UNLOCKED = Check("unlocked", _unlocked)
KNOWN_PLANT = Check("known_plant", _known_plant, always=True)
KNOWN_STATION = Check("known_station", _known_station, always=True)
PLANT_IN_REACH = (KNOWN_PLANT, UNLOCKED, Check("within_reach", _plant_in_reach))

FARM_INTERLOCKS: Interlocks[RoverView] = {
    "move_to": _drive(goal_of_move),
    "move_home": _drive(lambda world, _: world.stations["base"]),
    "water_plant": (
        *PLANT_IN_REACH,
        Check("enough_water", _enough_water),
        Check("charge_for_water", _charge_for_water),
    ),
    "spray_pesticide": (
        *PLANT_IN_REACH,
        Check("enough_pesticide", _enough_pesticide),
        Check("charge_for_pesticide", _charge_for_pesticide),
    ),
    "harvest_fruit": (
        *PLANT_IN_REACH,
        Check("ripe_fruit", _ripe_fruit),
        Check("room_in_hopper", _room_in_hopper),
    ),
    **{tool: (UNLOCKED, _station_in_reach(station)) for tool, station in STATION_OF.items()},
    "scan_plant": (KNOWN_PLANT,),
    "get_plant_pose": (KNOWN_PLANT,),
    "get_station_pose": (KNOWN_STATION,),
}
"""Each tool's checks, in the rover's order; simulator, host and board share them."""
