"""The sensors of the simulated rover: their quantities, degraded by the world's hidden parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from devices.farm_rover.world import distance
from devices.sensors import SensorSpec
from sims.coarse_sensors import CoarseSensor
from sims.farm_rover.farm import Farm
from sims.farm_rover.people import person_place

HOPPER_BARRIER = 0.9
"""Position of the hopper's light barrier, as a share of its capacity."""
ABSENT_M = 1e6
"""Distance of the person where there is none, m: beyond any sensor's range."""
DRAWN, HEAPED, SPRAYED, POURED = "drawn", "heaped", "sprayed", "poured"
"""Meters of what battery, hopper, sprayer and water tank get or give, for the twin that weighs them apart."""
WATER, SWAYED = "water", "water swayed"
"""What the water tank gives in all, L, and what of it hangs on how strong a fault is."""
SPRAYER, SPRAYER_S = "pesticide", "sprayer_s"
"""What the sprayer gives in all by its nominal flow, ml, and for how long its pump is on, s."""
DRIVEN = {"battery", "battery_gauge", "position.x", "position.y", "person_near", "person_distance", DRAWN}
"""The sensors whose quantity changes as the rover drives."""
REACHED_M = 0.05
"""Tolerance within which the rover has reached its goal, m."""


def deposit_on(plant: str) -> str:
    """Return the name of what of that falls on a plant."""
    return f"pesticide.{plant}"


def farm_sensors(farm: Farm) -> list[CoarseSensor]:
    """Return a rover's coarse sensors and the finer ones of its world, read through the simulator."""
    specs, hidden = farm.world.sensors, farm.world.hidden

    def fit(
        kind: str, quantity: Callable[[], float], part: str = "", noise: float = 1.0, **more: Any
    ) -> list[CoarseSensor]:
        """The sensor of a kind, degraded, at a plant or of an axis; none where the world fits none."""
        spec: SensorSpec | None = getattr(specs, kind)
        if spec is None:
            return []
        worse = spec if spec.period is None else spec.worsened(noise, hidden.dropout)
        return [CoarseSensor(f"{kind}.{part}" if part else kind, worse, quantity, **more)]

    def at_plants(
        kind: str,
        quantity: Callable[[Farm, str], Callable[[], float]],
        over: Callable[[Farm, str], Callable[[float], tuple[float, float]]] | None = None,
        **more: Any,
    ) -> list[CoarseSensor]:
        """The sensor of a kind at each plant; `over` returns the range of its quantity in a rest."""
        return [
            sensor
            for name in farm.world.plants
            for sensor in fit(kind, quantity(farm, name), name, range_over=over and over(farm, name), **more)
        ]

    def of_people(kind: str, seen: Callable[[float], float]) -> list[CoarseSensor]:
        """The sensor of a kind that sees people, of whose distance its quantity depends, m.

        While somebody may walk it may be any.
        """

        def quantity() -> float:
            return seen(_person_distance(farm, farm.clock.now))

        def over(_seconds: float) -> tuple[float, float]:
            now = float(quantity())
            return (-math.inf, math.inf) if farm.somebody_walks() else (now, now)

        return fit(
            kind,
            quantity,
            range_over=over,
            quick=farm.somebody_walks,
            ahead=lambda t: seen(_person_distance(farm, t)),
        )

    low, moist = (True, False), hidden.moisture_noise
    return [
        *at_plants("moisture", _moisture, _moisture_over, noise=moist, words=("dry", "wet")),
        *fit("water_tank_low", lambda: farm.state.water_liters, words=low),
        *fit("pesticide_tank_low", lambda: farm.state.pesticide.content, words=low),
        *fit("hopper_full", lambda: farm.state.heap >= HOPPER_BARRIER * farm.world.hopper.capacity),
        *fit("battery", lambda: farm.state.battery),
        *fit("bumper", lambda: farm.state.contact_n),
        *fit("pose_reached", lambda: _reached(farm)),
        *at_plants("runoff", _runoff, _runoff_over),
        *fit("flow_meter", lambda: farm.state.water.flow),
        *fit("tank_level", lambda: farm.state.water.content),
        *at_plants("moisture_probe", _moisture, _moisture_over, noise=moist),
        *fit("imu", lambda: farm.state.shock_n / farm.world.rover.mass, after=lambda: _forget_shock(farm)),
        *of_people("person_near", lambda away: away <= farm.world.rover.infrared_range_m),
        *of_people("person_distance", lambda away: away),
        *at_plants("leaf_wetness", _deposit),
        *fit("fruit_scale", lambda: farm.state.heap),
        *fit("battery_gauge", lambda: farm.state.battery),
        *fit("position", lambda: farm.state.pose.x, "x"),
        *fit("position", lambda: farm.state.pose.y, "y"),
        *(
            CoarseSensor(name, SensorSpec(kind="quantised"), quantity)
            for name, quantity in (
                (DRAWN, lambda: farm.state.drawn),
                (HEAPED, lambda: farm.heaped),
                (SPRAYED, lambda: farm.state.pesticide.pumped / hidden.pesticide_flow),
            )
            if farm.apart
        ),
        *(
            CoarseSensor(POURED, SensorSpec(kind="quantised"), lambda: farm.state.water.pumped)
            for _ in range(farm.endless)
        ),
    ]


def _moisture(farm: Farm, name: str) -> Callable[[], float]:
    return lambda: farm.state.plants[name].soil.moisture


def _moisture_over(farm: Farm, name: str) -> Callable[[float], tuple[float, float]]:
    """Return the range of a plant's moisture in a rest."""

    def over(seconds: float) -> tuple[float, float]:
        if farm.world.rain:
            return -math.inf, math.inf
        ahead = farm.state.plants[name].soil.copy()
        seen = [ahead.moisture]
        ahead.advance(seconds, 0.0, lambda stretch: seen.extend(stretch.moisture))
        return min(seen), max(seen)

    return over


def _runoff_over(farm: Farm, name: str) -> Callable[[float], tuple[float, float]]:
    """Return the range of a plant's runoff in a rest."""

    def over(_seconds: float) -> tuple[float, float]:
        # Where nothing is added nothing runs off.
        now = farm.state.plants[name].soil.flows.runoff
        return now, math.inf if farm.world.rain else now

    return over


def _runoff(farm: Farm, name: str) -> Callable[[], float]:
    return lambda: farm.state.plants[name].soil.flows.runoff


def _deposit(farm: Farm, name: str) -> Callable[[], float]:
    return lambda: farm.state.plants[name].pesticide_ml


def _reached(farm: Farm) -> bool:
    state = farm.state
    return not state.moving and distance(state.pose, state.goal) <= REACHED_M


def _forget_shock(farm: Farm) -> None:
    farm.state.shock_n = farm.state.contact_n


def _person_distance(farm: Farm, t: float) -> float:
    """Return how far the person is at a device time, s, from where the rover is now, m; great without one."""
    place = person_place(farm, t)
    if place is None:
        return ABSENT_M
    pose = farm.state.pose
    return math.hypot(place[0] - pose.x, place[1] - pose.y)
