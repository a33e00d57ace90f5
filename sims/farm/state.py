"""The changing state of the farm: rover, tanks, plants and their soil."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from devices.farm_rover.world import FarmWorld, Plant, Pose, Soil
from sims.farm.soil import SoilColumn, Stretch


@dataclass(slots=True)
class PlantState:
    """A plant and the soil under it.

    Attributes:
        place: as in the initial state.
        column: the soil, `owed` seconds behind device time.
        drowned_by, ponded_by: the call to blame once its soil passes the limit; None where no call is.
    """

    place: Plant
    column: SoilColumn
    ripe: bool
    pests: bool
    pesticide_ml: float
    drowned_by: int | None = None
    ponded_by: int | None = None
    owed: float = 0.0

    @property
    def soil(self) -> SoilColumn:
        """The soil, up to date."""
        if self.owed:
            self.column.advance(self.owed)
            self.owed = 0.0
        return self.column

    def let_pass(self, seconds: float, inflow: float, watch: Callable[[Stretch], None]) -> None:
        """Let time pass for the soil under this inflow, L/s.

        Soil on which no water stands can only dry, and so does no harm: its time is owed until it is read.
        """
        if inflow or self.column.surface or self.drowned_by is not None:
            self.soil.advance(seconds, inflow, watch)
        else:
            self.owed += seconds

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, with the keys of the initial state, and where its water went."""
        flows = self.soil.flows
        return {
            **self.place.model_dump(),
            "moisture": self.soil.moisture,
            "surface_liters": self.soil.surface,
            "ripe": self.ripe,
            "pests": self.pests,
            "pesticide_ml": self.pesticide_ml,
            "water_liters": {
                "applied": flows.applied,
                "infiltrated": flows.infiltrated,
                "drained": flows.drained,
                "evaporated": flows.evaporated,
                "runoff": flows.runoff,
            },
        }


@dataclass(slots=True)
class FarmState:
    """All that changes. Litres, ml, m, rad; `battery` is the share of a full charge.

    `booked_liters` and `booked_ml` are what the rover believes to have in its tanks.
    """

    pose: Pose
    safety_locked: bool
    battery: float
    water_liters: float
    pesticide_ml: float
    fruit: int
    collected_fruit: int
    plants: dict[str, PlantState]
    booked_liters: float
    booked_ml: float

    @classmethod
    def of(cls, world: FarmWorld, soil: Soil) -> FarmState:
        """The initial state of a world, with the soil as it truly is."""
        plants = {
            name: PlantState(
                plant, SoilColumn.under(plant, soil), plant.ripe, plant.pests, plant.pesticide_ml
            )
            for name, plant in world.plants.items()
        }
        return cls(
            world.pose,
            world.safety_locked,
            world.battery,
            world.water_tank.liters,
            world.pesticide_tank.ml,
            world.hopper.fruit,
            0,
            plants,
            world.water_tank.liters,
            world.pesticide_tank.ml,
        )

    def to_dict(self, world: FarmWorld) -> dict[str, Any]:
        """JSON-ready, with the keys of the initial state where they overlap."""
        return {
            "pose": self.pose.model_dump(),
            "safety_locked": self.safety_locked,
            "battery": self.battery,
            "water_tank": {
                "liters": self.water_liters,
                "capacity_liters": world.water_tank.capacity_liters,
            },
            "pesticide_tank": {
                "ml": self.pesticide_ml,
                "capacity_ml": world.pesticide_tank.capacity_ml,
            },
            "hopper": {"fruit": self.fruit, "capacity": world.hopper.capacity},
            "collected_fruit": self.collected_fruit,
            "plants": {name: plant.to_dict() for name, plant in self.plants.items()},
        }
