"""The farm rover at work: a tool that runs for a time, a pump that gives a dose, and their remedies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from devices.farm_rover.harm_rules import DRY_PUMP, OVER_IRRIGATION, PONDING
from devices.harm import Remedy
from sims.clock import Clock
from sims.farm.farm_in_motion import Activity, FarmInMotion
from sims.farm.hose import Hose
from sims.farm.soil_watch import Pieces, blame_watering, harmless_volume
from sims.farm.spray_drift import drift_shares
from sims.simulator import CallOptions

TICK_S = 1.0
"""Longest step while something runs, s: a stop acts and a tank's level is sensed at least this often."""
PERSON_TICK_S = 0.1
"""That step while a person is in the field, s."""


class FarmAtWork(FarmInMotion):
    """The farm with a rover whose tools can be run; what they are called stands in `sims.farm.simulator`."""

    @contextmanager
    def at_work(self, call: CallOptions) -> Iterator[None]:
        """While a call's tool runs; a remedy that concerns the call as a whole holds so long."""
        state, remedy = self.state, call.remedy
        state.working = call.index
        if remedy is Remedy.WAIT:
            state.alone = state.sprays_alone = True
        elif remedy is Remedy.CLOSED_VALVE:
            state.water.shut = state.pesticide.shut = True
        elif remedy is Remedy.CHARGED and call.event is not None:
            state.battery += call.event.severity
        try:
            yield
        finally:
            self.activity = state.working = state.picking = None
            state.sprays_alone = state.sprays_alone and not state.pesticide.still
            state.alone = state.water.shut = state.pesticide.shut = False

    def run(self, activity: Activity | None, seconds: float, tick: float = TICK_S) -> None:
        """Let time pass while a tool does its work."""
        now = self.clock.now
        if self.world.person.comes(now, now + seconds):
            tick = min(tick, PERSON_TICK_S)
        self.activity = activity
        try:
            self.pass_time(seconds, tick)
        finally:
            self.activity = None

    def give_water(self, name: str, liters: float, call: CallOptions) -> float:
        """Pump water onto a plant's soil for as long as the nominal flow takes; the dose, cut by a remedy."""
        plant, hose = self.state.plants[name], self.state.water
        seconds = whole_ticks(liters / self.world.rover.water_flow)
        if not seconds:
            return liters
        flow, now = liters / seconds, self.clock.now
        clogged, stuck = self.faults.strength("clogged_nozzle"), self.faults.strength("stuck_valve")

        def pieces(volume: float | None = None) -> Pieces:
            return hose.preview(flow, seconds, clogged, stuck, volume)

        budget = None
        if call.remedy is Remedy.CLAMP_DOSE and not _concerns(call, DRY_PUMP.kind):
            kinds: tuple[str, ...] = (
                (OVER_IRRIGATION.kind, PONDING.kind) if call.event is None else (call.event.kind,)
            )
            most = _volume(pieces())
            if call.event is None or call.event.entity == name:
                budget = harmless_volume(plant, self.soil, pieces, most, kinds, now)
        if budget is None or budget > 0.0:
            blame_watering(plant, self.soil, pieces(budget), call.index, now, self._faultless)
            self.state.poured_by = call.index
        self._pump(hose, name, flow, seconds, call, budget)
        return liters if budget is None else min(liters, budget / hose.factor)

    def give_pesticide(self, name: str, ml: float, call: CallOptions) -> float:
        """Spray a plant for as long as the nominal flow takes; the dose, cut by a remedy."""
        state, world = self.state, self.world
        hose, rover = state.pesticide, world.rover
        seconds = whole_ticks(ml / rover.pesticide_flow)
        if not seconds:
            return ml
        state.sprays_alone = call.remedy is Remedy.WAIT
        state.drift, state.sprayed_by = drift_shares(world.wind, name, world.plants), call.index
        shares = {**state.drift, name: 1.0 - sum(state.drift.values())}
        for hit in shares:
            state.plants[hit].dose = 0.0
        flow, budget = ml / seconds, None
        if call.remedy is Remedy.CLAMP_DOSE and not _concerns(call, DRY_PUMP.kind):
            concerned = set(shares) if call.event is None else {call.event.entity} & set(shares)
            budget = min(
                (self._room_ml(hit) / shares[hit] for hit in concerned),
                default=None,
            )
        plant = state.plants[name]
        self._pump(hose, name, flow, seconds, call, budget)
        plant.pests = plant.pests and plant.dose < rover.effective_dose_ml
        return ml if budget is None else min(ml, budget / hose.factor)

    @property
    def _faultless(self) -> bool:
        faults = self.world.faults
        return not faults.schedule and not faults.random

    def _room_ml(self, name: str) -> float:
        plant = self.state.plants[name]
        return max(0.0, plant.place.pesticide_limit_ml - plant.pesticide_ml)

    def _pump(
        self, hose: Hose, name: str, flow: float, seconds: float, call: CallOptions, budget: float | None
    ) -> None:
        """Run a pump at a plant, then wait until the hose has run out."""
        self.state.aim = name
        hose.open(flow)
        hose.budget = budget
        if budget is not None and budget <= 0.0:
            hose.cut()
        # The event of another plant comes from what drips there later, so its remedy is a valve that closes.
        hose.tight = call.remedy is Remedy.CLAMP_DOSE and call.event is not None and call.event.entity != name
        hose.stops_when_dry = call.remedy is Remedy.CLAMP_DOSE and _concerns(call, DRY_PUMP.kind)
        try:
            self.run(None, seconds)
        finally:
            hose.close(self.faults.strength("stuck_valve"))
        self.run(None, hose.lag)

    def let_go_of_plant(self) -> None:
        """The rover leaves: from now on what its hoses let out falls on bare ground."""
        self.state.aim = None


def _volume(pieces: Pieces) -> float:
    return sum(seconds * flow for seconds, flow in pieces)


def _concerns(call: CallOptions, kind: str) -> bool:
    return call.event is not None and call.event.kind == kind


def whole_ticks(seconds: float) -> float:
    """A time rounded to the clock's ticks."""
    return Clock.to_seconds(Clock.to_ticks(seconds))


def filling(missing: float, rate: float, call: CallOptions) -> tuple[float, float]:
    """The time, s, and the rate at which what is missing is filled up; a call's set time is never overrun."""
    seconds = missing / rate
    if call.duration is None or seconds <= call.duration:
        return seconds, rate
    return call.duration, missing / call.duration if call.duration else rate
