"""The farm's physics over time: rover, tanks, soil and person, and the harm that they do."""

from __future__ import annotations

import math
from collections.abc import Callable

from devices.farm_rover import tolerances
from sims.farm_rover.farm import Farm
from sims.farm_rover.rain import next_change, rain_rate
from sims.farm_rover.rover_monitor import RoverMonitor, Track
from sims.farm_rover.soil import Stretch
from sims.farm_rover.soil_monitor import monitor_soil
from sims.farm_rover.state import PlantState

Activity = Callable[[float, float], None]
"""The work of a running tool in one step: takes the device time at its start and its length, s."""


class FarmDynamics:
    """Advances the state of a farm; keeps nothing between calls.

    Attributes:
        activity: of the running tool; None between calls.
        track: of the rover that drives; None where it stands.
    """

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._monitor = RoverMonitor(farm)
        self.activity: Activity | None = None
        self.track: Track | None = None

    def evolve(self, seconds: float) -> None:
        """Advance tool, hoses, soil, contacts and person, in pieces in which every flow is constant."""
        t = self._farm.clock.now
        left = seconds
        while left > tolerances.PIECE_S:
            piece = min(left, self._horizon(t))
            self._piece(t, piece)
            t += piece
            left -= piece

    def _horizon(self, t: float) -> float:
        """Set the flows of device time t, s; return how long they stay as they are, s."""
        farm, state, soonest = self._farm, self._farm.state, math.inf
        for hose in (state.water, state.pesticide):
            if not hose.still:
                strength = farm.faults.strength
                hose.settle(t, strength("clogged_nozzle"), strength("stuck_valve"))
                soonest = min(soonest, hose.horizon(t))
        if farm.world.rain:
            soonest = min(soonest, next_change(farm.world.rain, t) - t)
        for plant in state.plants.values():
            if plant.place.wilts_at_s is not None:
                soonest = min(soonest, plant.needs_water(t, farm.latest_call))
        for waypoint in farm.world.person.path:
            if waypoint.t > t + tolerances.PIECE_S:
                return min(soonest, waypoint.t - t)
        return soonest

    def _piece(self, t: float, seconds: float) -> None:
        farm, state, monitor, end = self._farm, self._farm.state, self._monitor, t + seconds
        charge, person = state.battery, farm.world.person
        if person.path and not state.alone and person.comes(t + seconds / 2, t + seconds / 2):
            here = state.pose.x, state.pose.y
            monitor.person(self.track or Track(lambda _: here, 0.0), t, seconds)
        if self.activity is not None:
            self.activity(t, seconds)
        farm.contact.until(end, farm.ledger)
        flowing = not (state.water.still and state.pesticide.still)
        if flowing:
            monitor.flows(t, seconds)
            self._power_pumps(seconds)
        watered = state.water.advance(seconds) if flowing else 0.0
        sprayed = state.pesticide.advance(seconds) if flowing else 0.0
        if watered:
            if state.aim is None:
                monitor.spill(watered, t, seconds)
            else:
                state.plants[state.aim].watered_by = state.poured_by
        rain = rain_rate(farm.world.rain, t) * farm.soil.area if farm.world.rain else 0.0
        for name, plant in state.plants.items():
            liters = rain * seconds + (watered if name == state.aim else 0.0)
            if farm.apart:
                plant.column.flows.applied += liters
                continue
            lags = plant.owed > 0.0 and not liters
            # Soil that lags behind without a watch has broken no rule since: the condition for its lag.
            if lags or (not liters and plant.only_dries):
                plant.owe(t, seconds, 0.0, plant.watch)
            else:
                plant.owe(t, seconds, liters, self._soil_watch(name, plant))
        if sprayed:
            self._spread(sprayed, t, seconds)
        if state.picking is not None and not state.interval_over:
            monitor.harvest(state.picking, t, seconds)
        monitor.battery(charge, t, seconds)
        if state.heaped_by is not None:
            monitor.hopper(state.heaped_by, t, seconds)
        if end >= state.next_ripening:
            self._ripen(end)

    def _power_pumps(self, seconds: float) -> None:
        state, world = self._farm.state, self._farm.world
        pumps = (state.water.pump > 0.0) + (state.pesticide.pump > 0.0)
        charge = pumps * world.rover.pump_charge_per_s * seconds
        if charge:
            state.battery = max(0.0, state.battery - charge * world.hidden.draw)
            state.drawn += charge

    def _soil_watch(self, name: str, plant: PlantState) -> Callable[[float], Callable[[Stretch], None]]:
        farm = self._farm
        return lambda t: monitor_soil(farm.ledger, name, plant, farm.soil, t)

    def _spread(self, ml: float, t: float, seconds: float) -> None:
        """Distribute pesticide from the nozzle over the plant that it aims at and, with the wind, others."""
        state = self._farm.state
        if state.aim is None:
            state.lost_ml += ml
            return
        drifted = 0.0
        for name, share in state.drift.items():
            drifted += ml * share
            self._monitor.dose(name, state.plants[name], ml * share, t, seconds)
        self._monitor.dose(state.aim, state.plants[state.aim], ml - drifted, t, seconds)

    def _ripen(self, t: float) -> None:
        """Ripen the fruit that is due by device time t, s."""
        state = self._farm.state
        later = math.inf
        for plant in state.plants.values():
            at = plant.place.ripens_at_s
            if at is None:
                continue
            if at > t:
                later = min(later, at)
            elif at >= state.next_ripening:
                plant.ripe = True
        state.next_ripening = later
