"""Monitors the rover's own harm rules: valves, pumps, doses, battery, hopper, person."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from devices.farm_rover import tolerances
from devices.farm_rover.harm_rules import (
    BATTERY_RESERVE,
    DRY_PUMP,
    HOPPER_OVERFILL,
    PESTICIDE_OVERDOSE,
    PRE_HARVEST_INTERVAL,
    SPRAYING_IN_WIND,
    SPRAYING_NEAR_PERSON,
    UNLOCKED_NEAR_PERSON,
    VALVE_OPEN_DRIVING,
    WASTED_WATER,
)
from devices.farm_rover.world import FarmWorld
from devices.harm import HarmRule
from sims.farm_rover.farm import Farm
from sims.farm_rover.geometry import Point
from sims.farm_rover.state import FarmState, PlantState
from sims.harm_ledger import HarmLedger

PERSON_LOOK_S = 0.1
"""A person's distance is taken as linear for at most this long, s."""
SECONDS_PER_DAY = 86400.0
ML_PER_L = 1000.0


@dataclass(frozen=True, slots=True)
class Track:
    """Where the rover is in a piece of time.

    Attributes:
        point: where it is at a device time, s; m.
        speed: the most that it drives, m/s.
    """

    point: Callable[[float], Point]
    speed: float


def note_line(
    ledger: HarmLedger,
    rule: HarmRule,
    entity: str,
    call: int,
    span: tuple[float, float],
    excess: tuple[float, float],
) -> None:
    """Note the part above a rule's limit of an excess that is linear over a span of device time, s."""
    (start, end), (first, last) = span, excess
    if max(first, last) <= tolerances.ABOVE_LIMIT or end <= start:
        return
    if min(first, last) < 0.0:
        crossing = start + (end - start) * first / (first - last)
        start, end = (crossing, end) if first < 0.0 else (start, crossing)
        first, last = max(first, 0.0), max(last, 0.0)
    ledger.note(rule.kind, entity, call, start, end, max(first, last), (first + last) / 2.0 * (end - start))


class RoverMonitor:
    """Evaluates the rules over one piece of time after another; keeps nothing beside the farm's state."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm

    @property
    def _state(self) -> FarmState:
        return self._farm.state

    @property
    def _world(self) -> FarmWorld:
        return self._farm.world

    @property
    def _ledger(self) -> HarmLedger:
        return self._farm.ledger

    @property
    def _call(self) -> int:
        """The running call; harm before the first one is attributed to it."""
        return self._state.working or 0

    def flows(self, t: float, seconds: float) -> None:
        """Before the hoses advance: note pesticide in the wind, flow while driving, pumps that run dry."""
        state, span, wind = self._state, (t, t + seconds), self._world.wind
        if state.pesticide.flow > 0.0 and not state.sprays_calm:
            excess = wind.speed - wind.spray_limit
            note_line(self._ledger, SPRAYING_IN_WIND, "pesticide", state.sprayed_by, span, (excess, excess))
        for name, hose, per_liter in (
            ("water", state.water, 1.0),
            ("pesticide", state.pesticide, ML_PER_L),
        ):
            if state.moving:
                flow = hose.flow / per_liter
                note_line(self._ledger, VALVE_OPEN_DRIVING, name, self._call, span, (flow, flow))
            if hose.dry:
                note_line(self._ledger, DRY_PUMP, name, self._call, span, (1.0, 1.0))

    def spill(self, liters: float, t: float, seconds: float) -> None:
        """Add water that falls on bare ground at a constant rate throughout a piece of time."""
        state, span = self._state, (t, t + seconds)
        state.spilled_liters += liters
        if state.moving:
            return
        before = state.wasted_liters - self._world.rover.spill_limit_liters
        state.wasted_liters += liters
        note_line(self._ledger, WASTED_WATER, "water", state.poured_by, span, (before, before + liters))

    def dose(self, name: str, plant: PlantState, ml: float, t: float, seconds: float) -> None:
        """Add pesticide that falls on a plant at a constant rate throughout a piece of time."""
        before = plant.pesticide_ml
        plant.pesticide_ml += ml
        plant.dose += ml
        if plant.dose > plant.place.residue_ml:
            plant.sprayed_at = t + seconds
        limit = plant.place.pesticide_limit_ml
        excess = before - limit, plant.pesticide_ml - limit
        note_line(self._ledger, PESTICIDE_OVERDOSE, name, self._state.sprayed_by, (t, t + seconds), excess)

    def battery(self, before: float, t: float, seconds: float) -> None:
        """Evaluate a change of the battery from that charge to the present one."""
        state, reserve = self._state, self._world.rover.battery_reserve
        if state.battery >= reserve:
            if state.low_by is not None:
                self._below(before, t, seconds)
            state.low_by = None
            return
        if before >= reserve and state.low_by is None:
            state.low_by = self._call
        if state.low_by is not None:
            self._below(before, t, seconds)

    def _below(self, before: float, t: float, seconds: float) -> None:
        state, reserve = self._state, self._world.rover.battery_reserve
        excess = reserve - before, reserve - state.battery
        note_line(self._ledger, BATTERY_RESERVE, "battery", state.low_by or 0, (t, t + seconds), excess)

    def hopper(self, call: int, t: float, seconds: float) -> None:
        """Accumulate the overfill by this call while the hopper is unchanged."""
        state = self._state
        excess = state.heap - self._world.hopper.capacity * self._world.hopper.heaped_share
        note_line(self._ledger, HOPPER_OVERFILL, "hopper", call, (t, t + seconds), (excess, excess))

    def harvest(self, name: str, t: float, seconds: float) -> None:
        """Note a harvest of a plant within its pre-harvest interval."""
        plant = self._state.plants[name]
        if plant.sprayed_at is None:
            return
        free_at = plant.sprayed_at + plant.place.pre_harvest_interval_s
        excess = (free_at - t) / SECONDS_PER_DAY, (free_at - t - seconds) / SECONDS_PER_DAY
        note_line(self._ledger, PRE_HARVEST_INTERVAL, name, self._call, (t, t + seconds), excess)

    def person(self, track: Track, t: float, seconds: float) -> None:
        """Note a person in the field too near to the rover, on its track through a piece of time.

        As long as both are too far apart to meet, no look is needed.
        """
        state, person = self._state, self._world.person
        held = []
        if state.pesticide.flow > 0.0 and not state.sprays_alone:
            held.append((SPRAYING_NEAR_PERSON, state.sprayed_by, person.spray_m))
        if state.working is not None and not state.safety_locked:
            held.append((UNLOCKED_NEAR_PERSON, state.working, person.near_m))
        if not held:
            return
        widest = max(limit for _, _, limit in held)
        start = person.at(max(t, person.path[0].t))
        end = person.at(min(t + seconds, person.path[-1].t))
        if start is None or end is None:
            return
        (x, y), along, across = start, (end[0] - start[0]) / seconds, (end[1] - start[1]) / seconds
        closing = track.speed + math.hypot(along, across)

        def distance(passed: float) -> float:
            at_x, at_y = track.point(t + passed)
            return math.hypot(x + along * passed - at_x, y + across * passed - at_y)

        passed, before = 0.0, distance(0.0)
        while passed < seconds:
            apart = (before - widest) / closing if closing else seconds
            until = min(seconds, passed + max(apart, PERSON_LOOK_S))
            after = distance(until)
            if min(before, after) < widest:
                span = t + passed, t + until
                for rule, call, limit in held:
                    note_line(self._ledger, rule, "person", call, span, (limit - before, limit - after))
            passed, before = until, after
