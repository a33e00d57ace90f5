"""The person in the field, and what the rover's scanner for people sees of one."""

from __future__ import annotations

import math
from dataclasses import dataclass

from devices.farm_rover import tolerances
from sims.farm_rover.farm import Farm
from sims.farm_rover.geometry import Disc, Point


@dataclass(frozen=True, slots=True)
class Sighting:
    """A person as the scanner sees one: place in the field and distance, m; bearing, rad, 0 is east."""

    place: Point
    distance: float
    bearing: float


def person_place(farm: Farm, t: float | None = None) -> Point | None:
    """Return where the person is, now or at another device time, s; None if there is none in the field."""
    return None if farm.state.alone else farm.world.person.at(farm.clock.now if t is None else t)


def sighting(farm: Farm) -> Sighting | None:
    """Return the person whom the scanner sees: within its range, and not behind an obstacle.

    Beds are lower than the scanner.
    """
    place, pose = person_place(farm), farm.state.pose
    if place is None:
        return None
    east, north = place[0] - pose.x, place[1] - pose.y
    distance = math.hypot(east, north)
    if distance > farm.world.rover.people_range_m + tolerances.LIMIT:
        return None
    here = pose.x, pose.y
    obstacles = (shape for shape in farm.contact.shapes if isinstance(shape, Disc))
    if any(disc.segment_distance(here, place) < 0.0 for disc in obstacles):
        return None
    return Sighting(place, distance, math.atan2(north, east))
