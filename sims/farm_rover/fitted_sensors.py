"""The sensors of the simulated rover: their quantities, degraded by the world's hidden parameters."""

from __future__ import annotations

import math
from collections.abc import Callable

from devices.farm_rover.world import distance
from devices.sensors import SensorSpec
from sims.coarse_sensors import CoarseSensor
from sims.farm_rover.farm import Farm

HOPPER_BARRIER = 0.9
"""Position of the hopper's light barrier, as a share of its capacity."""
ABSENT_M = 1e6
"""Distance of the person where there is none, m: beyond any sensor's range."""
REACHED_M = 0.05
"""Tolerance within which the rover has reached its goal, m."""


def farm_sensors(farm: Farm) -> list[CoarseSensor]:
    """Return a rover's coarse sensors and the finer ones of its world, read through the simulator."""
    specs, hidden = farm.world.sensors, farm.world.hidden

    def worse(spec: SensorSpec, noise: float = 1.0) -> SensorSpec:
        return spec if spec.period is None else spec.worsened(noise, hidden.dropout)

    plants = list(farm.world.plants)
    moisture = worse(specs.moisture, hidden.moisture_noise)
    runoff = worse(specs.runoff)
    low = (True, False)
    sensors = [
        CoarseSensor(
            f"moisture.{p}", moisture, _moisture(farm, p), ("dry", "wet"), range_over=_moisture_over(farm, p)
        )
        for p in plants
    ]
    sensors += [
        CoarseSensor("water_tank_low", worse(specs.water_tank_low), lambda: farm.state.water_liters, low),
        CoarseSensor(
            "pesticide_tank_low", worse(specs.pesticide_tank_low), lambda: farm.state.pesticide.content, low
        ),
        CoarseSensor("hopper_full", worse(specs.hopper_full), lambda: _heaped(farm)),
        CoarseSensor("battery", worse(specs.battery), lambda: farm.state.battery),
        CoarseSensor("bumper", worse(specs.bumper), lambda: farm.state.contact_n),
        CoarseSensor("pose_reached", worse(specs.pose_reached), lambda: _reached(farm)),
        *(
            CoarseSensor(f"runoff.{p}", runoff, _runoff(farm, p), range_over=_runoff_over(farm, p))
            for p in plants
        ),
    ]
    if specs.flow_meter is not None:
        sensors.append(CoarseSensor("flow_meter", worse(specs.flow_meter), lambda: farm.state.water.flow))
    if specs.tank_level is not None:
        sensors.append(CoarseSensor("tank_level", worse(specs.tank_level), lambda: farm.state.water.content))
    if specs.moisture_probe is not None:
        probe = worse(specs.moisture_probe, hidden.moisture_noise)
        sensors += [
            CoarseSensor(f"moisture_probe.{p}", probe, _moisture(farm, p), range_over=_moisture_over(farm, p))
            for p in plants
        ]
    if specs.imu is not None:
        sensors.append(
            CoarseSensor(
                "imu",
                worse(specs.imu),
                lambda: farm.state.shock_n / farm.world.rover.mass,
                after=lambda: _forget_shock(farm),
            )
        )
    if specs.person_near is not None:
        sensors.append(CoarseSensor("person_near", worse(specs.person_near), lambda: _person_near(farm)))
    if specs.person_distance is not None:
        radar = worse(specs.person_distance)
        sensors.append(CoarseSensor("person_distance", radar, lambda: _person_distance(farm)))
    if specs.leaf_wetness is not None:
        leaf = worse(specs.leaf_wetness)
        sensors += [CoarseSensor(f"leaf_wetness.{p}", leaf, _deposit(farm, p)) for p in plants]
    if specs.fruit_scale is not None:
        sensors.append(CoarseSensor("fruit_scale", worse(specs.fruit_scale), lambda: farm.state.heap))
    if specs.battery_gauge is not None:
        sensors.append(CoarseSensor("battery_gauge", worse(specs.battery_gauge), lambda: farm.state.battery))
    if specs.position is not None:
        receiver = worse(specs.position)
        sensors += [
            CoarseSensor("position.x", receiver, lambda: farm.state.pose.x),
            CoarseSensor("position.y", receiver, lambda: farm.state.pose.y),
        ]
    return sensors


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

    def over(seconds: float) -> tuple[float, float]:
        plant = farm.state.plants[name]
        now = later = plant.column.flows.runoff
        if farm.world.rain:
            later = math.inf
        elif plant.column.surface:
            ahead = plant.soil.copy()
            ahead.advance(seconds)
            later = ahead.flows.runoff
        return now, later

    return over


def _runoff(farm: Farm, name: str) -> Callable[[], float]:
    # Soil that is owed time has no water on it, so nothing has run off meanwhile.
    return lambda: farm.state.plants[name].column.flows.runoff


def _heaped(farm: Farm) -> bool:
    return farm.state.heap >= HOPPER_BARRIER * farm.world.hopper.capacity


def _reached(farm: Farm) -> bool:
    state = farm.state
    return not state.moving and distance(state.pose, state.goal) <= REACHED_M


def _forget_shock(farm: Farm) -> None:
    farm.state.shock_n = farm.state.contact_n


def _deposit(farm: Farm, name: str) -> Callable[[], float]:
    return lambda: farm.state.plants[name].pesticide_ml


def _person_near(farm: Farm) -> bool:
    return _person_distance(farm) <= farm.world.rover.infrared_range_m


def _person_distance(farm: Farm) -> float:
    """Return the distance of the person, m; a great one if there is none."""
    place = None if farm.state.alone else farm.world.person.at(farm.clock.now)
    if place is None:
        return ABSENT_M
    pose = farm.state.pose
    return math.hypot(place[0] - pose.x, place[1] - pose.y)
