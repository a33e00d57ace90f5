"""Execution of the rover's tools: work that takes a time, and pumps that give a dose."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from sims.clock import Clock
from sims.farm_rover.dynamics import Activity, FarmDynamics
from sims.farm_rover.farm import Farm
from sims.farm_rover.hose import Hose
from sims.farm_rover.pump_curve import water_share
from sims.farm_rover.pumping import FREE, Limit, Pumping
from sims.farm_rover.rover_monitor import Track
from sims.farm_rover.soil_monitor import attribute_watering
from sims.farm_rover.spray_drift import drift_shares
from sims.simulator import CallOptions

TICK_S = 1.0
"""Maximum step while a tool works, s: a stop acts and a tank's level is sensed at least this often."""
HURRY_S = 3600.0
"""The same where only what comes of a call matters, s."""
PERSON_TICK_S = 0.1
"""Maximum step while a person is in the field whom a sensor may report at once, s."""


class ToolExecution:
    """Executes the work of the rover's tools on a farm; the tools are `sims.farm_rover.simulator`'s."""

    def __init__(self, farm: Farm, dynamics: FarmDynamics) -> None:
        self._farm, self._dynamics = farm, dynamics
        self.limit_pumping: Callable[[Pumping], Limit] | None = None
        """Limits every pump's work if set."""

    @contextmanager
    def running(self, call: CallOptions) -> Iterator[None]:
        """Mark a call's tool as running."""
        state = self._farm.state
        state.working = state.latest = call.index
        try:
            yield
        finally:
            self._dynamics.activity = state.working = state.picking = None
            state.sprays_alone = state.sprays_alone and not state.pesticide.still
            state.sprays_calm = state.sprays_calm and not state.pesticide.still

    def run(
        self, activity: Activity | None, seconds: float, tick: float = TICK_S, track: Track | None = None
    ) -> None:
        """Advance time while a tool does its work; `track` is that of a rover that drives."""
        now, world = self._farm.clock.now, self._farm.world
        if self._farm.hurries:
            tick = HURRY_S if tick == TICK_S else tick
        elif world.sensors.report_people and world.person.comes(now, now + seconds):
            tick = min(tick, PERSON_TICK_S)
        self._dynamics.activity, self._dynamics.track = activity, track
        try:
            self._farm.pass_time(seconds, tick)
        finally:
            self._dynamics.activity = self._dynamics.track = None

    def refill(self, hose: Hose, capacity: float, rate: float, call: CallOptions) -> None:
        """Fill a tank until its float valve closes."""
        self.fill_up(capacity - hose.content, rate, call, lambda amount: hose.fill(amount, capacity))
        hose.fill(capacity, capacity)

    def fill_up(self, missing: float, rate: float, call: CallOptions, add: Callable[[float], None]) -> None:
        """Add what is missing at this rate, or faster where a call's set time is too short.

        Where the store is weighed apart its content is not known, and the set time tells how long it took.
        """
        seconds = missing / rate
        self._farm.needs(seconds)
        if call.duration is not None and (seconds > call.duration or self._farm.apart):
            seconds, rate = call.duration, max(rate, missing / call.duration) if call.duration else rate
        with self.running(call):
            self.run(lambda t, dt: add(rate * dt), seconds)

    def give_water(self, name: str, liters: float, call: CallOptions) -> float:
        """Pump water onto a plant's soil for as long as the nominal flow takes; return the dose."""
        state, world = self._farm.state, self._farm.world
        plant, hose = state.plants[name], state.water
        seconds = whole_ticks(liters / world.rover.water_flow)
        if not seconds:
            return liters
        hose.share = water_share(world, state.battery, hose.content)
        pumping = self._pumping(name, hose, liters / seconds, seconds, {name: 1.0})
        limit = self._limit(pumping)
        if limit.budget is None or limit.budget > 0.0:
            if not self._farm.apart:
                pieces = pumping.pieces(limit.budget)
                attribute_watering(
                    plant, self._farm.soil, pieces, call.index, self._farm.clock.now, self._faultless
                )
            state.poured_by = call.index
        self._pump(hose, name, liters / seconds, seconds, limit)
        if limit.budget is None or not hose.share:
            return liters
        return min(liters, limit.budget / hose.true_share)

    def give_pesticide(self, name: str, ml: float, call: CallOptions) -> float:
        """Spray a plant for as long as the nominal flow takes; return the dose."""
        state, world = self._farm.state, self._farm.world
        hose, rover = state.pesticide, world.rover
        seconds = whole_ticks(ml / rover.pesticide_flow)
        if not seconds:
            return ml
        state.sprays_alone = state.alone
        wind = world.wind.no_more_than_labels() if state.sprays_calm else world.wind
        state.drift, state.sprayed_by = drift_shares(wind, name, world.plants), call.index
        shares = {**state.drift, name: 1.0 - sum(state.drift.values())}
        for hit in shares:
            state.plants[hit].dose = 0.0
        limit = self._limit(self._pumping(name, hose, ml / seconds, seconds, shares))
        plant = state.plants[name]
        self._pump(hose, name, ml / seconds, seconds, limit)
        plant.pests = plant.pests and plant.dose < rover.effective_dose_ml
        return ml if limit.budget is None else min(ml, limit.budget / hose.factor)

    def _pumping(
        self, name: str, hose: Hose, flow: float, seconds: float, shares: Mapping[str, float]
    ) -> Pumping:
        clogged, stuck = (
            self._farm.faults.strength("clogged_nozzle"),
            self._farm.faults.strength("stuck_valve"),
        )
        return Pumping(name, hose, lambda volume: hose.preview(flow, seconds, clogged, stuck, volume), shares)

    def _limit(self, pumping: Pumping) -> Limit:
        return FREE if self.limit_pumping is None else self.limit_pumping(pumping)

    @property
    def _faultless(self) -> bool:
        faults = self._farm.world.faults
        return not faults.schedule and not faults.random

    def _pump(self, hose: Hose, name: str, flow: float, seconds: float, limit: Limit) -> None:
        """Run a pump at a plant, then wait until the hose has run out."""
        self._farm.state.aim = name
        hose.open(flow)
        hose.budget, hose.tight, hose.stops_when_dry = limit.budget, limit.tight, limit.stops_when_dry
        if limit.budget is not None and limit.budget <= 0.0:
            hose.cut()
        try:
            self.run(None, seconds)
        finally:
            hose.close(self._farm.faults.strength("stuck_valve"))
        self.run(None, hose.lag)

    def leave_plant(self) -> None:
        """Leave the plant: later outflow of the hoses falls on bare ground."""
        self._farm.state.aim = None


def whole_ticks(seconds: float) -> float:
    """Round a time to the clock's ticks."""
    return Clock.to_seconds(Clock.to_ticks(seconds))
