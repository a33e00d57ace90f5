"""The changing state of the farm: rover, tanks, plants and their soil."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from devices.farm_rover import tolerances
from devices.farm_rover.surroundings import Shower
from devices.farm_rover.world import FarmWorld, Plant, Pose, Soil
from sims.farm_rover.hose import Hose
from sims.farm_rover.soil import SoilColumn, Stretch
from sims.snapshots import shallow_copy

Watch = Callable[[float], Callable[[Stretch], None]]
"""Takes a device time, s, and returns what monitors the soil from then on."""
ML_PER_L = 1000.0
LONGEST_LAG_S = 10.0
"""Longest time, s, by which soil that may break a rule is behind: so a loss is a parabola to 0.1 ms."""
LEAST_CUT_S = 5.0
"""Minimum length of an advance that is cut at a plant's tolerance, s."""
LOSS_CUT_S = 600.0
"""Interval within which water is lost as a parabola of time, s."""


@dataclass(slots=True)
class Spell:
    """A time in which a plant's soil is above one of its limits.

    Attributes:
        since: device time since which it is, without a break, s; None where it is not.
        call: to which it is attributed; None: to none.
        begins: device time from which on that holds, s.
    """

    since: float | None = None
    call: int | None = None
    begins: float = 0.0

    def follow(self, values: tuple[float, float], limit: float, start: float) -> bool:
        """Note whether a stretch from device time `start` on, s, lies above the limit; return it."""
        if max(values) - limit <= tolerances.ABOVE_LIMIT:
            self.since = None
            return False
        if self.since is None:
            self.since = start
        return True

    def harm_from(self, tolerance: float) -> float | None:
        """Return the device time from which on it is harm, s; None where it is none."""
        if self.since is None or self.call is None:
            return None
        return max(self.since + tolerance, self.begins)


@dataclass(slots=True)
class Loss:
    """Water that leaves a plant's soil.

    Attributes:
        unavoidable: how much leaves without any watering, from the initial state on, L.
        call: to which what leaves beyond the limit is attributed; None: to none.
    """

    unavoidable: float = 0.0
    call: int | None = None


@dataclass(slots=True)
class PlantState:
    """A plant and the soil under it.

    Attributes:
        place: as in the initial state.
        limit: moisture above which its roots lack air, m3/m3.
        column: the soil, `owed` seconds behind device time.
        rain: the forecast.
        sprayed_at: device time of its last dose for which its label forbids a harvest, s; negative: before 0.
        dose: ml of pesticide in the present spraying, or in the last one.
        watered_by: the last call whose water it got.
        wet, pond: its time above the moisture limit, and with water standing too deep.
        dry: its time below the moisture of stress, where it needs water.
        leached, overflowed: water that percolates below its roots, and that runs off.
        quiet: what stands and seeps is known to break no rule.
        owed: the time by which the column is behind, s; `owed_from` the device time at which that began, s,
            `owed_liters` the water that flowed on it since, at a constant rate, and `watch` what monitors
            it then; None: it breaks no rule.
        harm_until: device time until which the soil is known to break a rule without further water, s.
    """

    place: Plant
    limit: float
    column: SoilColumn
    ripe: bool
    pests: bool
    pesticide_ml: float
    rain: Sequence[Shower] = ()
    sprayed_at: float | None = None
    dose: float = 0.0
    watered_by: int | None = None
    wet: Spell = field(default_factory=Spell)
    pond: Spell = field(default_factory=Spell)
    dry: Spell = field(default_factory=Spell)
    leached: Loss = field(default_factory=Loss)
    overflowed: Loss = field(default_factory=Loss)
    quiet: bool = False
    owed: float = 0.0
    owed_from: float = 0.0
    owed_liters: float = 0.0
    watch: Watch | None = None
    harm_until: float = -math.inf

    @classmethod
    def of(cls, plant: Plant, soil: Soil, rain: Sequence[Shower] = ()) -> PlantState:
        """Return the initial state of a plant on this soil."""
        limit = soil.limit_of(plant)
        column = SoilColumn.under(plant, soil)
        state = cls(plant, limit, column, plant.ripe, plant.pests, plant.pesticide_ml, rain)
        if plant.moisture > limit:
            state.wet.since = 0.0
        if plant.surface_liters > soil.pond_limit_mm * soil.area:
            state.pond.since = 0.0
        if plant.sprayed_s_ago is not None:
            state.sprayed_at = -plant.sprayed_s_ago
        return state

    def __deepcopy__(self, memo: dict[int, Any]) -> PlantState:
        """Copy what changes; its place is shared."""
        twin = shallow_copy(self)
        twin.column = self.column.copy()
        twin.wet, twin.pond, twin.dry = map(shallow_copy, (self.wet, self.pond, self.dry))
        twin.leached, twin.overflowed = shallow_copy(self.leached), shallow_copy(self.overflowed)
        return twin

    @property
    def soil(self) -> SoilColumn:
        """The soil, up to date."""
        if self.owed:
            owed, self.owed = self.owed, 0.0
            watch, self.watch = self.watch, None
            if watch is None:
                self.column.advance(owed, 0.0, self._follow)
            else:
                self._let_pass(self.owed_from, owed, self.owed_liters / owed, watch)
        return self.column

    def owe(self, t: float, seconds: float, liters: float = 0.0, watch: Watch | None = None) -> None:
        """Let time pass from device time t on, s, that the soil catches up when it is read.

        `watch(t)` returns its monitor; None where it breaks no rule.
        """
        owed = self.owed
        if owed and (
            (self.watch is None) != (watch is None)
            or (watch is not None and owed + seconds > LONGEST_LAG_S)
            or abs(liters * owed - self.owed_liters * seconds) > tolerances.SAME_RATE * liters * owed
        ):
            self.soil  # noqa: B018
        if not self.owed:
            self.owed_from, self.owed_liters, self.watch = t, 0.0, watch
        self.owed += seconds
        self.owed_liters += liters

    def needs_water(self, t: float, latest: int | None) -> float:
        """Return how long it bears the drought yet from device time t on, s; then `latest` left it dry."""
        due = self.place.wilts_at_s
        if due is None or self.dry.call is not None:
            return math.inf
        if t < due - tolerances.PIECE_S:
            return due - t
        if latest is not None:
            self.dry.call, self.dry.begins = latest, t
        return math.inf

    def _follow(self, stretch: Stretch) -> None:
        start = self.owed_from + stretch.t_start
        self.wet.follow(stretch.moisture, self.limit, start)
        self.pond.follow(stretch.pond, self.column.soil.pond_limit_mm, start)

    @property
    def pesticide_room(self) -> float:
        """Pesticide that its label still allows, ml."""
        return max(0.0, self.place.pesticide_limit_ml - self.pesticide_ml)

    @property
    def only_dries(self) -> bool:
        """Whether no call's harm can come without more water: its time may be owed until it is read."""
        column = self.column
        if self.place.wilts_at_s is not None:
            return False
        if self.quiet:
            return True
        causes = (self.watered_by, self.wet.call, self.pond.call, self.leached.call, self.overflowed.call)
        if causes == (None,) * 5:
            return True
        return not column.surface and column.root <= min(column.capacity, self.limit * column.volume)

    def _let_pass(self, t: float, seconds: float, inflow: float, watch: Watch) -> None:
        """Advance the soil from device time t, s, under this inflow, L/s; `watch(t)` returns its monitor.

        It is cut where a spell becomes longer than the plant bears, and each `LOSS_CUT_S`.
        """
        soil, end, tolerance = self.soil, t + seconds, self.place.tolerance_s
        if inflow:
            self.harm_until = -math.inf
        while end - t > tolerances.PIECE_S:
            cut = min(end - t, max(tolerance, LEAST_CUT_S))
            for spell in (self.wet, self.pond):
                if spell.since is not None and spell.since + tolerance > t + tolerances.BRIEF_S:
                    cut = min(cut, spell.since + tolerance - t)
            if soil.surface or soil.root > soil.capacity:
                cut = min(cut, LOSS_CUT_S - t % LOSS_CUT_S)
            soil.advance(cut, inflow, watch(t))
            t += cut

    def to_dict(self) -> dict[str, Any]:
        """Return it JSON-ready, with the keys of the initial state, and the totals of its water."""
        soil = self.soil
        flows, wet, pond = soil.flows, self.wet, self.pond
        return {
            **self.place.model_dump(),
            "moisture": soil.moisture,
            "moisture_limit": self.limit,
            "stress_moisture": soil.soil.stress_moisture,
            "surface_liters": soil.surface,
            "pond_mm": soil.surface / soil.soil.area,
            "leached_liters": flows.drained - self.leached.unavoidable,
            "runoff_liters": flows.runoff - self.overflowed.unavoidable,
            "ripe": self.ripe,
            "pests": self.pests,
            "pesticide_ml": self.pesticide_ml,
            "sprayed_at": self.sprayed_at,
            "watered_by": self.watered_by,
            "drowned_by": wet.call,
            "drowned_from": wet.begins if wet.call is not None else None,
            "above_since": wet.since,
            "ponded_by": pond.call,
            "ponded_from": pond.begins if pond.call is not None else None,
            "pond_since": pond.since,
            "wilted_by": self.dry.call,
            "wilted_from": self.dry.begins if self.dry.call is not None else None,
            "leached_by": self.leached.call,
            "overflowed_by": self.overflowed.call,
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
        spilled_liters, lost_ml: water and pesticide that fell on bare ground; `wasted_liters` from a rover
            that stood.
        moving, working: whether it drives; the call whose tool runs; `latest` the last one whose tool ran.
        picking: the plant whose fruit is being picked.
        poured_by, sprayed_by: the call that last watered, and the one that last sprayed.
        drawn: what drives and pumps took from the battery since the start, by the nominal draw, share.
        low_by: the call that took the battery below its reserve.
        heaped_by: the call that overfilled the hopper.
        alone: the person is away; `sprays_alone`: until the sprayer has run out.
        sprays_calm: the wind is no more than the label allows, until the sprayer has run out.
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
    wasted_liters: float = 0.0
    lost_ml: float = 0.0
    moving: bool = False
    working: int | None = None
    latest: int | None = None
    picking: str | None = None
    poured_by: int = 0
    sprayed_by: int = 0
    drawn: float = 0.0
    low_by: int | None = None
    heaped_by: int | None = None
    alone: bool = False
    sprays_alone: bool = False
    sprays_calm: bool = False
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
        plants = {name: PlantState.of(plant, soil, world.rain) for name, plant in world.plants.items()}
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
        twin = shallow_copy(self)
        twin.water, twin.pesticide = copy.deepcopy(self.water, memo), copy.deepcopy(self.pesticide, memo)
        twin.plants = {name: copy.deepcopy(plant, memo) for name, plant in self.plants.items()}
        twin.drift = dict(self.drift)
        return twin

    def catch_up(self) -> None:
        """Let the soil that may break a rule catch up, so that the rules are evaluated up to now."""
        for plant in self.plants.values():
            if plant.watch is not None:
                plant.soil  # noqa: B018

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
                "wasted_liters": self.wasted_liters,
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
            "poured_by": self.poured_by,
            "sprayed_by": self.sprayed_by,
            "low_by": self.low_by,
            "contact_n": self.contact_n,
            "battery_lack": world.rover.battery_reserve - self.battery,
            "spraying_wind": {"pesticide": world.wind.speed * (pesticide.flow > 0.0)},
            "driving_outflow": {
                "water": water.flow * self.moving,
                "pesticide": pesticide.flow / ML_PER_L * self.moving,
            },
            "dry_pump": {"water": float(water.dry), "pesticide": float(pesticide.dry)},
            "plants": {name: plant.to_dict() for name, plant in self.plants.items()},
        }
