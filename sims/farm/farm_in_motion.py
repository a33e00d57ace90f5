"""The farm in motion: rover, tanks and soil on the virtual clock, watched by sensors and harm rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from devices.farm_rover.harm_rules import FARM_HARM_RULES
from devices.farm_rover.tools import FARM_ROVER
from devices.farm_rover.world import FarmWorld, Pose, distance
from sims.coarse_sensors import CoarseSensor
from sims.farm.geometry import Box, Disc, Shape
from sims.farm.harm_watch import ContactWatch, watch_soil
from sims.farm.route import Ground
from sims.farm.state import FarmState
from sims.simulator import Simulator

BATTERY_BARS = 4

Activity = Callable[[float, float], None]
"""What a running tool does in a step: takes the device time at its start and its length, s."""


class FarmInMotion(Simulator[FarmWorld]):
    """The farm rover on its field, without its tools.

    `state_dict` has the keys of the world's initial state, `collected_fruit`, and for each plant
    `water_liters`, where its water went. `coarse_state` is what cheap sensors would tell: the place at
    which the rover stands, the battery in four bars, the tanks low or not, the hopper's count, and for each
    plant the soil wet or dry, ripe and pests.
    """

    name = "farm_rover"
    firmware = "farm_rover_sim 1"
    device_type = FARM_ROVER
    harm_rules = FARM_HARM_RULES
    kept = ("state", "contact", "activity", "watering")

    def begin(self) -> None:
        """The world's initial state."""
        world = self.world
        self.settling = world.settling_s
        hidden = world.hidden
        soil = world.soil
        self.soil = soil.model_copy(
            update={
                "infiltration_s": soil.infiltration_s / hidden.infiltration,
                "drainage_s": soil.drainage_s / hidden.drainage,
            }
        )
        self.state = FarmState.of(world, self.soil)
        beds = [Box(name, b.x_min, b.x_max, b.y_min, b.y_max) for name, b in world.beds.items()]
        obstacles = [Disc(name, o.x, o.y, o.radius) for name, o in world.obstacles.items()]
        shapes: tuple[Shape, ...] = (*beds, *obstacles)
        clearance = world.rover.radius + world.rover.clearance
        self.ground = Ground(world.field.width, world.field.height, shapes, clearance)
        start = (world.pose.x, world.pose.y)
        self.contact = ContactWatch(self.ledger, shapes, world.rover.radius, start)
        self.activity: Activity | None = None
        self.watering: tuple[str, float] | None = None

    def coarse_sensors(self) -> Sequence[CoarseSensor]:
        """Soil wet or dry at each plant, both tanks low, hopper full."""
        specs, hidden = self.world.sensors, self.world.hidden
        probe = specs.moisture.worsened(hidden.moisture_noise, hidden.dropout)
        moisture = [
            CoarseSensor(f"moisture.{name}", probe, self._moisture_of(name), ("dry", "wet"))
            for name in self.state.plants
        ]
        low = (True, False)
        return [
            *moisture,
            CoarseSensor("water_tank_low", specs.water_tank_low, lambda: self.state.water_liters, low),
            CoarseSensor(
                "pesticide_tank_low", specs.pesticide_tank_low, lambda: self.state.pesticide_ml, low
            ),
            CoarseSensor("hopper_full", specs.hopper_full, self._hopper_is_full),
        ]

    def evolve(self, seconds: float) -> None:
        """Move tool, soil and contacts on."""
        t = self.clock.now
        if self.activity is not None:
            self.activity(t, seconds)
        self.contact.until(t + seconds)
        for name, plant in self.state.plants.items():
            inflow = self.watering[1] if self.watering and self.watering[0] == name else 0.0
            plant.let_pass(seconds, inflow, watch_soil(self.ledger, name, plant, self.soil, t))

    @property
    def shared(self) -> tuple[object, ...]:
        """World, plants and soil as they were given, and the shapes on the field."""
        world = self.world
        return (world, self.soil, *world.plants.values(), *self.ground.shapes)

    def make_safe(self) -> None:
        """Stand still, close everything, lock the safety."""
        self.activity = self.watering = None
        self.state.safety_locked = True

    def state_dict(self) -> dict[str, Any]:
        """The true state."""
        return self.state.to_dict(self.world)

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

    def _moisture_of(self, name: str) -> Callable[[], float]:
        return lambda: self.state.plants[name].soil.moisture

    def _hopper_is_full(self) -> bool:
        return self.state.fruit >= self.world.hopper.capacity
