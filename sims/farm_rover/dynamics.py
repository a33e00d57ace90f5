"""The farm in motion: rover, tanks and soil on the virtual clock, watched by sensors and harm rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from devices.farm_rover import tolerances
from devices.farm_rover.harm_rules import BED_CROSSING, COLLISION, FARM_HARM_RULES, KEEP_OUT
from devices.farm_rover.tools import FARM_ROVER
from devices.farm_rover.world import FarmWorld, Pose, distance
from devices.harm import DAY_S, HarmRule
from sims.coarse_sensors import CoarseSensor
from sims.farm_rover.contact_monitor import ContactMonitor
from sims.farm_rover.fitted_sensors import farm_sensors
from sims.farm_rover.geometry import Box, Disc, Shape
from sims.farm_rover.route import Ground
from sims.farm_rover.rover_monitor import RoverMonitor
from sims.farm_rover.soil import Stretch
from sims.farm_rover.soil_monitor import harm_to_come, watch_soil
from sims.farm_rover.state import FarmState, PlantState
from sims.simulator import Simulator

BATTERY_BARS = 4

Activity = Callable[[float, float], None]
"""What a running tool does in a step: takes the device time at its start and its length, s."""


class FarmDynamics(Simulator[FarmWorld]):
    """The farm rover on its field, without its tools.

    `state_dict` has the keys of the world's initial state, and all that the harm rules are computed from
    (`docs/harm-rules-farm.md`). `coarse_state` is what cheap sensors would tell: the place at
    which the rover stands, the battery in four bars, the tanks low or not, the hopper's count, and for each
    plant the soil wet or dry, ripe and pests.
    """

    name = "farm_rover"
    firmware = "farm_rover_sim 1"
    device_type = FARM_ROVER
    harm_rules = FARM_HARM_RULES
    horizon = DAY_S
    names_calls = frozenset(
        {"watered_by", "drowned_by", "ponded_by", "sprayed_by", "low_by", "heaped_by", "working"}
    )
    kept = ("state", "contact", "activity", "_ripening")

    def begin(self) -> None:
        """The world's initial state, with the soil as its hidden parameters make it."""
        world = self.world
        hidden, soil = world.hidden, world.soil
        self.settling = world.settling_s
        self.soil = soil.model_copy(
            update={
                "infiltration_s": soil.infiltration_s / hidden.infiltration,
                "drainage_s": soil.drainage_s / hidden.drainage,
            }
        )
        self.state = FarmState.of(world, self.soil)
        strips = [(BED_CROSSING, world.beds), (KEEP_OUT, world.keep_out)]
        shapes: dict[Shape, HarmRule] = {
            Box(name, b.x_min, b.x_max, b.y_min, b.y_max): rule
            for rule, boxes in strips
            for name, b in boxes.items()
        }
        shapes |= {Disc(name, o.x, o.y, o.radius): COLLISION for name, o in world.obstacles.items()}
        clearance = world.rover.radius + world.rover.clearance
        self.ground = Ground(world.field.width, world.field.height, tuple(shapes), clearance)
        start = (world.pose.x, world.pose.y)
        self.contact = ContactMonitor(shapes, world.rover.radius, start)
        self.watch_rover = RoverMonitor(self)
        self.activity: Activity | None = None
        self._ripening = min(
            (plant.ripens_at_s for plant in world.plants.values() if plant.ripens_at_s is not None),
            default=math.inf,
        )

    def coarse_sensors(self) -> Sequence[CoarseSensor]:
        """What `farm_sensors` fits to this rover."""
        return farm_sensors(self)

    def goes_on(self) -> bool:
        """Whether a hose still runs, or soil is or will be too wet."""
        state, now = self.state, self.clock.now
        if not (state.water.still and state.pesticide.still):
            return True
        return any(harm_to_come(plant, self.soil, now) for plant in state.plants.values())

    def evolve(self, seconds: float) -> None:
        """Move tool, hoses, soil, contacts and person on, in pieces in which every flow is constant."""
        t = self.clock.now
        left = seconds
        while left > tolerances.PIECE_S:
            piece = min(left, self._horizon(t))
            self._piece(t, piece)
            t += piece
            left -= piece

    def _horizon(self, t: float) -> float:
        """How long all flows stay as they are from device time t on, s, once set for that time."""
        state, soonest = self.state, math.inf
        for hose in (state.water, state.pesticide):
            if not hose.still:
                strength = self.faults.strength
                hose.settle(t, strength("clogged_nozzle"), strength("stuck_valve"))
                soonest = min(soonest, hose.horizon(t))
        for waypoint in self.world.person.path:
            if waypoint.t > t + tolerances.PIECE_S:
                return min(soonest, waypoint.t - t)
        return soonest

    def _piece(self, t: float, seconds: float) -> None:
        state, watch, end = self.state, self.watch_rover, t + seconds
        charge, person = state.battery, self.world.person
        met = bool(person.path) and not state.alone and person.comes(t + seconds / 2, t + seconds / 2)
        came_from = state.pose
        if self.activity is not None:
            self.activity(t, seconds)
        self.contact.until(end, self.ledger)
        watered = sprayed = 0.0
        if not (state.water.still and state.pesticide.still):
            watch.flows(t, seconds)
            pumps = (state.water.pump > 0.0) + (state.pesticide.pump > 0.0)
            self.draw(pumps * self.world.rover.pump_charge_per_s * seconds)
            if met:
                watch.person((came_from, state.pose), t, seconds)
            watered, sprayed = state.water.advance(seconds), state.pesticide.advance(seconds)
        elif met:
            watch.person((came_from, state.pose), t, seconds)
        if watered:
            if state.aim is None:
                state.spilled_liters += watered
            else:
                state.plants[state.aim].watered_by = state.poured_by
        for name, plant in state.plants.items():
            inflow = watered / seconds if name == state.aim else 0.0
            if plant.only_dries and not inflow:
                plant.owed += seconds
                continue
            plant.let_pass(seconds, inflow, self._soil_watch(name, plant, t))
        if sprayed:
            self._spread(sprayed, t, seconds)
        if state.picking is not None and not state.interval_over:
            watch.harvest(state.picking, t, seconds)
        watch.battery(charge, t, seconds)
        watch.hopper(t, seconds)
        if end >= self._ripening:
            self._ripen(end)

    def _soil_watch(
        self, name: str, plant: PlantState, t: float
    ) -> Callable[[float], Callable[[Stretch], None]]:
        return lambda passed: watch_soil(self.ledger, name, plant, self.soil, t + passed)

    def _spread(self, ml: float, t: float, seconds: float) -> None:
        """Pesticide from the nozzle falls on the plant that it aims at and, with the wind, on others."""
        state = self.state
        if state.aim is None:
            state.lost_ml += ml
            return
        drifted = 0.0
        for name, share in state.drift.items():
            drifted += ml * share
            self.watch_rover.dose(name, state.plants[name], ml * share, t, seconds)
        self.watch_rover.dose(state.aim, state.plants[state.aim], ml - drifted, t, seconds)

    def _ripen(self, t: float) -> None:
        due = {
            name: p.place.ripens_at_s
            for name, p in self.state.plants.items()
            if p.place.ripens_at_s is not None
        }
        for name, at in due.items():
            if self._ripening <= at <= t:
                self.state.plants[name].ripe = True
        self._ripening = min((at for at in due.values() if at > t), default=math.inf)

    def draw(self, charge: float) -> None:
        """Take a share of a full charge, as this rover truly needs it, from the battery."""
        if charge:
            self.state.battery = max(0.0, self.state.battery - charge * self.world.hidden.draw)

    @property
    def shared(self) -> tuple[object, ...]:
        """World, plants and soil as they were given, and the shapes on the field."""
        world = self.world
        return (world, self.soil, *world.plants.values(), *self.ground.shapes, *self.harm_rules)

    def make_safe(self) -> None:
        """Stand still, close everything, lock the safety."""
        self.activity = None
        stuck = self.faults.strength("stuck_valve")
        self.state.water.close(stuck)
        self.state.pesticide.close(stuck)
        self.state.moving = False
        self.state.safety_locked = True

    def state_dict(self) -> dict[str, Any]:
        """The true state."""
        person = None if self.state.alone else self.world.person.at(self.clock.now)
        return {
            **self.state.to_dict(self.world),
            "overlap": self.contact.overlaps((self.state.pose.x, self.state.pose.y)),
            "stands_in": self.contact.excused,
            "person_at": None if person is None else list(person),
        }

    def coarse_state(self) -> dict[str, Any]:
        """What the rover's own sensors and registers show."""
        state, seen = self.state, self.sensor_values
        return {
            "at": self._place(),
            "safety_locked": state.safety_locked,
            "battery_bars": round(state.battery * BATTERY_BARS),
            "water_tank_low": seen["water_tank_low"],
            "pesticide_tank_low": seen["pesticide_tank_low"],
            "hopper": {"fruit": state.fruit},
            "plants": {
                name: {"soil": seen[f"moisture.{name}"], "ripe": plant.ripe, "pests": plant.pests}
                for name, plant in state.plants.items()
            },
        }

    def _place(self) -> str | list[int]:
        """The named place within reach, or the position in whole metres."""
        pose, world = self.state.pose, self.world
        places: dict[str, Pose] = {**world.stations, **world.plants}
        name = min(places, key=lambda place: distance(places[place], pose))
        if distance(places[name], pose) <= world.rover.reach:
            return name
        return [round(pose.x), round(pose.y)]
