"""The changing state of the farm: rover, tanks, plants and their soil."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from devices.farm_rover.world import FarmWorld, Plant, Pose, Soil
from sims.farm_rover.hose import Hose
from sims.farm_rover.soil import SoilColumn, Stretch

ML_PER_L = 1000.0
LEAST_CUT_S = 5.0
"""Minimum length of an advance that is cut at a plant's tolerance, s."""


@dataclass(slots=True)
class PlantState:
    """A plant and the soil under it.

    Attributes:
        place: as in the initial state.
        column: the soil, `owed` seconds behind device time.
        sprayed_at: device time of its last dose for which its label forbids a harvest, s; negative: before 0.
        dose: ml of pesticide in the present spraying, or in the last one.
        watered_by: the last call whose water it got.
        drowned_by, ponded_by: the call to which a broken rule of its soil is attributed; None: to none.
        drowned_from: device time from which on that holds, s.
        quiet: the standing water is known to break no rule.
        above_since: device time since which its moisture is above its limit, s; None where it is not.
    """

    place: Plant
    column: SoilColumn
    ripe: bool
    pests: bool
    pesticide_ml: float
    sprayed_at: float | None = None
    dose: float = 0.0
    watered_by: int | None = None
    drowned_by: int | None = None
    drowned_from: float = 0.0
    ponded_by: int | None = None
    above_since: float | None = None
    quiet: bool = False
    owed: float = 0.0

    def __deepcopy__(self, memo: dict[int, Any]) -> PlantState:
        """Copy what changes; its place is shared."""
        twin = copy.copy(self)
        twin.column = copy.deepcopy(self.column, memo)
        return twin

    @property
    def soil(self) -> SoilColumn:
        """The soil, up to date."""
        if self.owed:
            self.column.advance(self.owed)
            self.owed = 0.0
            if self.column.moisture <= self.place.moisture_limit:
                self.above_since = None
        return self.column

    @property
    def pesticide_room(self) -> float:
        """Pesticide that its label still allows, ml."""
        return max(0.0, self.place.pesticide_limit_ml - self.pesticide_ml)

    @property
    def only_dries(self) -> bool:
        """Whether no harm can come without more water: its time may be owed until it is read."""
        return (self.quiet or not self.column.surface) and self.drowned_by is None

    @property
    def over_irrigated_since(self) -> float | None:
        """Device time from which on its wetness is harm, s; None where it is not above its limit."""
        if self.above_since is None or self.drowned_by is None:
            return None
        return max(self.above_since + self.place.tolerance_s, self.drowned_from)

    def let_pass(
        self, seconds: float, inflow: float, watch: Callable[[float], Callable[[Stretch], None]]
    ) -> None:
        """Advance the soil under this inflow, L/s; `watch(s)` returns the monitor from now + s on."""
        soil, passed = self.soil, 0.0
        while passed < seconds:
            cut = min(seconds - passed, max(self.place.tolerance_s, LEAST_CUT_S))
            soil.advance(cut, inflow, watch(passed))
            passed += cut

    def to_dict(self) -> dict[str, Any]:
        """Return it JSON-ready, with the keys of the initial state, and the totals of its water."""
        soil = self.soil
        flows = soil.flows
        return {
            **self.place.model_dump(),
            "moisture": soil.moisture,
            "surface_liters": soil.surface,
            "pond_mm": soil.surface / soil.soil.area,
            "ripe": self.ripe,
            "pests": self.pests,
            "pesticide_ml": self.pesticide_ml,
            "sprayed_at": self.sprayed_at,
            "watered_by": self.watered_by,
            "drowned_by": self.drowned_by,
            "drowned_from": self.drowned_from if self.drowned_by is not None else None,
            "ponded_by": self.ponded_by,
            "above_since": self.above_since,
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

    Attributes:
        water, pesticide: the tanks with their hoses.
        booked_liters, booked_ml: the contents of its tanks by the rover's own account.
        fruit: plants' worth of fruit in the hopper by the rover's count; `heap` by its true size.
        aim: the plant under hose and sprayer; None: the ground.
        goal: the last goal of the rover.
        spilled_liters, lost_ml: water and pesticide that fell on bare ground.
        moving, working: whether it drives; the call whose tool runs.
        picking: the plant whose fruit is being picked.
        poured_by, sprayed_by: the call that last watered, and the one that last sprayed.
        low_by: the call that took the battery below its reserve.
        heaped_by: the call that overfilled the hopper.
        alone: the person is away; `sprays_alone`: until the sprayer has run out.
        interval_over: a harvest is allowed, however recent the last spraying.
        hopper_room: maximum addition to the heap by a harvest; None: no limit.
        drift: the share of the spraying that lands on each neighbour.
        next_ripening: device time at which a plant's fruit ripens next, s.
        contact_n: force of contact with an obstacle now, N; `shock_n` its peak since the last sample.
    """

    pose: Pose
    safety_locked: bool
    battery: float
    water: Hose
    pesticide: Hose
    booked_liters: float
    booked_ml: float
    fruit: int
    heap: float
    plants: dict[str, PlantState]
    goal: Pose
    collected_fruit: int = 0
    aim: str | None = None
    spilled_liters: float = 0.0
    lost_ml: float = 0.0
    moving: bool = False
    working: int | None = None
    picking: str | None = None
    poured_by: int = 0
    sprayed_by: int = 0
    low_by: int | None = None
    heaped_by: int | None = None
    alone: bool = False
    sprays_alone: bool = False
    interval_over: bool = False
    hopper_room: float | None = None
    next_ripening: float = math.inf
    contact_n: float = 0.0
    shock_n: float = 0.0
    drift: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, world: FarmWorld, soil: Soil) -> FarmState:
        """Return the initial state of a world, with the true soil."""
        hidden, rover = world.hidden, world.rover
        plants = {}
        for name, plant in world.plants.items():
            state = PlantState(
                plant, SoilColumn.under(plant, soil), plant.ripe, plant.pests, plant.pesticide_ml
            )
            if plant.moisture > plant.moisture_limit:
                state.above_since = 0.0
            if plant.sprayed_s_ago is not None:
                state.sprayed_at = -plant.sprayed_s_ago
            plants[name] = state
        water, pesticide = world.water_tank.liters, world.pesticide_tank.ml
        return cls(
            pose=world.pose,
            safety_locked=world.safety_locked,
            battery=world.battery,
            water=Hose(water, rover.hose_lag_s, hidden.water_flow, rover.water_flow),
            pesticide=Hose(pesticide, rover.hose_lag_s, hidden.pesticide_flow, rover.pesticide_flow),
            booked_liters=water,
            booked_ml=pesticide,
            fruit=world.hopper.fruit,
            heap=world.hopper.fruit * hidden.fruit_size,
            plants=plants,
            goal=world.pose,
            next_ripening=min(
                (plant.ripens_at_s for plant in world.plants.values() if plant.ripens_at_s is not None),
                default=math.inf,
            ),
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> FarmState:
        """Copy what changes; poses are shared."""
        twin = copy.copy(self)
        twin.water, twin.pesticide = copy.deepcopy(self.water, memo), copy.deepcopy(self.pesticide, memo)
        twin.plants = {name: copy.deepcopy(plant, memo) for name, plant in self.plants.items()}
        twin.drift = dict(self.drift)
        return twin

    @property
    def water_liters(self) -> float:
        """True content of the water tank."""
        return self.water.content

    @property
    def pesticide_ml(self) -> float:
        """True content of the pesticide tank."""
        return self.pesticide.content

    def to_dict(self, world: FarmWorld) -> dict[str, Any]:
        """Return it JSON-ready, with the keys of the initial state where they overlap."""
        water, pesticide = self.water, self.pesticide
        return {
            "pose": self.pose.model_dump(),
            "safety_locked": self.safety_locked,
            "battery": self.battery,
            "water_tank": {
                "liters": water.content,
                "capacity_liters": world.water_tank.capacity_liters,
                "booked_liters": self.booked_liters,
                "in_hose_liters": water.inside,
                "flow": water.flow,
                "pump": water.pump > 0.0,
                "filled_liters": water.filled,
                "spilled_liters": self.spilled_liters,
            },
            "pesticide_tank": {
                "ml": pesticide.content,
                "capacity_ml": world.pesticide_tank.capacity_ml,
                "booked_ml": self.booked_ml,
                "in_hose_ml": pesticide.inside,
                "flow": pesticide.flow,
                "pump": pesticide.pump > 0.0,
                "filled_ml": pesticide.filled,
                "lost_ml": self.lost_ml,
            },
            "hopper": {
                "fruit": self.fruit,
                "capacity": world.hopper.capacity,
                "heap": self.heap,
                "holds": world.hopper.capacity * world.hopper.heaped_share,
                "heaped_by": self.heaped_by,
            },
            "collected_fruit": self.collected_fruit,
            "moving": self.moving,
            "working": self.working,
            "picking": self.picking,
            "aim": self.aim,
            "sprayed_by": self.sprayed_by,
            "low_by": self.low_by,
            "contact_n": self.contact_n,
            "battery_lack": world.rover.battery_reserve - self.battery,
            "driving_outflow": {
                "water": water.flow * self.moving,
                "pesticide": pesticide.flow / ML_PER_L * self.moving,
            },
            "dry_pump": {"water": float(water.dry), "pesticide": float(pesticide.dry)},
            "plants": {name: plant.to_dict() for name, plant in self.plants.items()},
        }
