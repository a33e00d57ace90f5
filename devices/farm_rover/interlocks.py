"""The farm rover's interlocks: what must hold before a tool acts. A `Refusal` tells a model what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from devices.farm_rover import tolerances
from devices.farm_rover.world import FarmWorld, Pose, distance
from devices.outcome import Refusal

Place = TypeVar("Place", bound=Pose)


def unlocked(safety_locked: bool) -> None:
    """The safety is unlocked, else code `safety_locked`."""
    if safety_locked:
        raise Refusal("safety_locked", "The safety is locked. Call unlock_safety_mode first.")


def known_plant(plants: Mapping[str, Place], plant_id: str) -> Place:
    """The plant of that name, else code `unknown_plant`."""
    if plant_id not in plants:
        names = ", ".join(plants) or "none"
        raise Refusal("unknown_plant", f"There is no plant {plant_id!r}. The plants are: {names}.")
    return plants[plant_id]


def known_station(stations: Mapping[str, Pose], name: str) -> Pose:
    """The station of that name, else code `unknown_station`."""
    if name not in stations:
        names = ", ".join(stations)
        raise Refusal("unknown_station", f"There is no station {name!r}. The stations are: {names}.")
    return stations[name]


def within_reach(rover: Pose, place: Pose, name: str, reach: float) -> None:
    """The rover stands within `reach`, m, of the place, else code `too_far`."""
    apart = distance(rover, place)
    if apart > reach + tolerances.LIMIT:
        raise Refusal(
            "too_far",
            f"{name} is {apart:.2f} m away and must be within {reach:g} m. "
            f"Call move_to with x {place.x:g} and y {place.y:g} first.",
        )


def inside_field(world: FarmWorld, x: float, y: float) -> None:
    """The point lies in the field, else code `outside_field`."""
    if not world.contains(x, y):
        raise Refusal(
            "outside_field",
            f"({x:g}, {y:g}) is outside the field. x must be from 0 to {world.field.width:g} "
            f"and y from 0 to {world.field.height:g}.",
        )


def enough_in_tank(content: float, wanted: float, what: str, unit: str, refill: str, station: str) -> None:
    """The tank holds what is wanted, else code `tank_empty` or `not_enough_in_tank`."""
    if wanted <= content + tolerances.LIMIT:
        return
    code = "tank_empty" if content <= tolerances.LIMIT else "not_enough_in_tank"
    raise Refusal(
        code,
        f"The {what} tank holds {content:.3g} {unit}, less than {wanted:.3g} {unit}. Nothing was pumped. "
        f"Move to the {station} and call {refill}.",
    )


def enough_charge(battery: float, needed: float) -> None:
    """The battery lasts for the call, else code `battery_low`."""
    if needed > battery + tolerances.LIMIT:
        raise Refusal(
            "battery_low",
            f"The battery is at {battery:.3f}, and this needs {needed:.3f}. "
            "Move to the charging_pad and call recharge.",
        )


def fruit_to_pick(ripe: bool, plant_id: str) -> None:
    """The plant bears ripe fruit, else code `not_ripe`."""
    if not ripe:
        raise Refusal("not_ripe", f"{plant_id} has no ripe fruit. Choose another plant.")


def room_in_hopper(fruit: int, capacity: int) -> None:
    """The hopper is not full, else code `hopper_full`."""
    if fruit >= capacity:
        raise Refusal(
            "hopper_full", "The hopper is full. Move to the collection_bin and call dump_hopper first."
        )
