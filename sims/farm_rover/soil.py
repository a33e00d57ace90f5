"""Water in the soil under one plant: Green-Ampt infiltration from the surface into a root zone.

Two stores, in litres over the wetted area A: S stands on the surface, W is in the root zone. With inflow q,
infiltration f, percolation D and evapotranspiration E

    dS/dt = q - f - runoff          dW/dt = f - D - E

- Infiltration f is that of Green and Ampt (1911) with the parameters of Rawls et al. (1983) for the soil's
  texture, for the moisture at which the front formed (`sims.farm_rover.green_ampt`). Until water ponds, all
  inflow goes in. A front lasts until the surface has been dry for SWMM's recovery time; then a new one forms.
- Percolation D = (W - W_fc)/tau above field capacity: AquaCrop's drainage function, made linear, over days
  (`devices.farm_rover.soil_texture`). Once the root zone is full the front has left it below, and what goes
  in above percolates.
- Evapotranspiration E = Ks ETc A, with Ks of FAO-56 eq. 84: 1 until the share p of the available water is
  used (eqs. 82 and 83), then in proportion to what is left, 0 at the wilting point.
- What stands higher than the basin's rim runs off. The balance is that of FAO-56 eq. 85.

Each piece between the levels at which a coefficient changes is solved exactly: the result does not depend on
the steps, and the water balance closes to rounding.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from devices.farm_rover import tolerances
from devices.farm_rover.soil_texture import recovery_s
from devices.farm_rover.world import Plant, Soil
from sims.farm_rover.green_ampt import WettingFront
from sims.farm_rover.root_store import FrontRoot, SteadyRoot, root_of
from sims.snapshots import shallow_copy

SECONDS_PER_DAY = 86400.0
SECONDS_PER_HOUR = 3600.0


@dataclass(slots=True)
class Stretch:
    """A part of an advance in which moisture and standing water only rise, or only fall.

    Attributes:
        t_start, t_end: s after the start of the advance.
        moisture: of the root zone at start and end, m3/m3.
        pond: depth of standing water at start and end, mm.
        moisture_time, pond_time: their integrals over time.
        drained, runoff: percolation and runoff in it, L.
        drained_time, runoff_time: the integrals over time of what has percolated and run off in it, L s.
    """

    t_start: float
    t_end: float
    moisture: tuple[float, float]
    pond: tuple[float, float]
    moisture_time: float
    pond_time: float
    drained: float
    runoff: float
    drained_time: float
    runoff_time: float


@dataclass(slots=True)
class Flows:
    """Totals of the flows since the start, L."""

    applied: float = 0.0
    infiltrated: float = 0.0
    drained: float = 0.0
    evaporated: float = 0.0
    runoff: float = 0.0


@dataclass(slots=True)
class SoilColumn:
    """The two stores under one plant.

    Attributes:
        root_levels, surface_levels: contents, L, at which an advance is split; ascending.
        surface: standing water, L.
        root: water in the root zone, L.
        depth: infiltrated since the wetting front formed, L.
        deficit: suction head times the moisture deficit ahead of the front, L.
        dry_s: time since the surface was wet, s.
        flows: totals since the start.
    """

    soil: Soil
    root_levels: tuple[float, ...]
    surface_levels: tuple[float, ...]
    surface: float
    root: float
    depth: float = 0.0
    deficit: float = 0.0
    dry_s: float = math.inf
    flows: Flows = field(default_factory=Flows)
    # Volume and contents of the root zone, L, and flows, L/s, of the equations.
    volume: float = field(init=False)
    wilting: float = field(init=False)
    stress: float = field(init=False)
    capacity: float = field(init=False)
    saturation: float = field(init=False)
    rim: float = field(init=False)
    full_evaporation: float = field(init=False)
    conductivity: float = field(init=False)
    recovery: float = field(init=False)

    def __post_init__(self) -> None:
        soil = self.soil
        self.volume = volume = soil.area * soil.root_depth * 1000.0
        self.wilting = soil.wilting_point * volume
        self.capacity = soil.field_capacity * volume
        self.saturation = soil.saturation * volume
        self.stress = self.capacity - soil.depletion_fraction * (self.capacity - self.wilting)
        self.rim = soil.brim_liters
        self.full_evaporation = soil.evapotranspiration * soil.area / SECONDS_PER_DAY
        self.conductivity = soil.conductivity_mm_h * soil.area / SECONDS_PER_HOUR
        self.recovery = recovery_s(soil.conductivity_mm_h)

    @classmethod
    def under(cls, plant: Plant, soil: Soil) -> SoilColumn:
        """Return the column of a plant, whose stretches are also split at its moisture and pond limits."""
        volume = soil.area * soil.root_depth * 1000.0
        available = soil.field_capacity - soil.wilting_point
        stress = soil.field_capacity - soil.depletion_fraction * available
        levels = {soil.wilting_point, stress, soil.field_capacity, soil.saturation, soil.limit_of(plant)}
        ponds = {0.0, soil.brim_liters, soil.pond_limit_mm * soil.area}
        return cls(
            soil,
            tuple(sorted(level * volume for level in levels)),
            tuple(sorted(ponds)),
            plant.surface_liters,
            plant.moisture * volume,
        )

    @property
    def moisture(self) -> float:
        """Root-zone moisture, m3/m3."""
        return self.root / self.volume

    def __deepcopy__(self, _memo: dict[int, Any]) -> SoilColumn:
        """Copy what changes; soil and levels are shared."""
        return self.copy()

    def copy(self) -> SoilColumn:
        """Return a column in the same state."""
        twin = shallow_copy(self)
        twin.flows = shallow_copy(self.flows)
        return twin

    def advance(
        self, seconds: float, inflow: float = 0.0, watch: Callable[[Stretch], None] | None = None
    ) -> None:
        """Advance under a constant inflow, L/s; report each stretch to `watch`."""
        passed = 0.0
        while seconds - passed > tolerances.SOIL_TIME_S:
            surface, root = self.surface, self.root
            drained, runoff = self.flows.drained, self.flows.runoff
            took, water_time, gained_time = self._piece(seconds - passed, inflow)
            if watch is not None:
                area, volume = self.soil.area, self.volume
                drained, runoff = self.flows.drained - drained, self.flows.runoff - runoff
                applied_time = inflow * took * took / 2.0
                runoff_time = applied_time - gained_time if runoff else 0.0
                drained_time = 0.0
                if drained:
                    evaporated_time = self.full_evaporation * took * took / 2.0
                    drained_time = gained_time - (water_time - root * took) - evaporated_time
                watch(
                    Stretch(
                        passed,
                        passed + took,
                        (root / volume, self.root / volume),
                        (surface / area, self.surface / area),
                        water_time / volume,
                        (surface * took + applied_time - gained_time - runoff_time) / area,
                        drained,
                        runoff,
                        drained_time,
                        runoff_time,
                    )
                )
            passed += took

    def _piece(self, longest: float, inflow: float) -> tuple[float, float, float]:
        """Advance to the next change of a coefficient.

        Returns:
            Its length, s; the integrals over time of W and of the infiltrated volume, L s.
        """
        ponded = self.surface > tolerances.LEVEL
        if not ponded and inflow <= 0.0:
            times = self._steady_piece(longest, 0.0)
            self.dry_s += times[0]
            return times
        if self.dry_s >= self.recovery:
            share = max(0.0, 1.0 - self.root / self.saturation) * self.soil.saturation
            self.depth, self.deficit = 0.0, self.soil.suction_mm * share * self.soil.area
        self.dry_s = 0.0
        front = self._front()
        until_ponding = front.gained_at(inflow)
        if until_ponding < tolerances.LEVEL:
            until_ponding = 0.0
        if not ponded and until_ponding > 0.0:
            return self._steady_piece(min(longest, until_ponding / inflow), inflow)
        return self._ponded_piece(longest, inflow, front, until_ponding)

    def _front(self) -> WettingFront:
        return WettingFront(self.conductivity, self.deficit, self.depth)

    def _steady_piece(self, longest: float, inflow: float) -> tuple[float, float, float]:
        """Advance without standing water: all inflow goes in."""
        took, net = longest, inflow - self._loss()
        if net > tolerances.NET_FLOW and self.root >= self.saturation - tolerances.LEVEL:
            water, water_time = self.root, self.root * took
        else:
            piece = SteadyRoot(inflow, self.root, *self._coefficients(rising=net >= 0.0))
            level = _next_level(self.root_levels, self.root, piece.rises)
            reached = math.inf if level is None else piece.crossing(level)
            if level is not None and reached <= took:
                took, water = reached, level
            else:
                water = piece.water(took)
            water_time = piece.water_time(took)
        self._book(took, inflow, self.surface, water)
        self.depth += inflow * took
        return took, water_time, inflow * took * took / 2.0

    def _ponded_piece(
        self, longest: float, inflow: float, front: WettingFront, until_even: float
    ) -> tuple[float, float, float]:
        """Advance with standing water; after `until_even` L infiltration falls below the inflow."""
        took, gained = longest, front.gained(longest)
        spills = until_even <= 0.0 and self.surface >= self.rim - tolerances.LEVEL
        surface: float | None = self.surface if spills else None
        if not spills:
            end, level = self._surface_end(took, inflow, front, gained, until_even)
            if end < gained:
                took, gained, surface = front.time(end), end, level
        end, water, water_time = self._root_under(front, gained, took)
        if end < gained:
            took, gained = front.time(end), end
            surface = self.surface if spills else None
        if surface is None:
            surface = max(0.0, self.surface + inflow * took - gained)
        self._book(took, inflow, surface, water, inflow * took - gained if spills else 0.0)
        self.depth += gained
        return took, water_time, front.gained_time(gained)

    def _surface_end(
        self, longest: float, inflow: float, front: WettingFront, gained: float, until_even: float
    ) -> tuple[float, float | None]:
        """Return the volume infiltrated until standing water reaches a level or turns, and the level."""
        start = self.surface
        if until_even > 0.0:
            level = _next_level(self.surface_levels, start, rising=False) or 0.0
            if not inflow:
                return start - level, level
            last = min(gained, until_even)
            if start + inflow * front.time(last) - last >= level:
                return until_even, None
        else:
            level, last = _next_level(self.surface_levels, start, rising=True) or math.inf, gained
            if start + inflow * longest - gained <= level:
                return math.inf, None
        return root_of(lambda x: start + inflow * front.time(x) - x - level, 0.0, last), level

    def _root_under(self, front: WettingFront, gained: float, took: float) -> tuple[float, float, float]:
        """Return the volume infiltrated until a coefficient changes at the latest, W then, its integral."""
        start, net = self.root, front.rate(0.0) - self._loss()
        rising = net > tolerances.NET_FLOW
        if rising and start >= self.saturation - tolerances.LEVEL:
            # What goes in below a full root zone percolates.
            end = front.gained_at(self._loss())
            return (gained, start, start * took) if gained <= end else (end, start, start * front.time(end))
        piece = FrontRoot(front, start, *self._coefficients(rising))
        end, water = gained, piece.water(gained, took)
        if rising and piece.slope(end, water) < 0.0:
            end = root_of(lambda x: piece.slope(x, piece.water(x)), end * tolerances.NEAR_0, end)
            water = piece.water(end)
        level = _next_level(self.root_levels, start, water > start)
        if level is not None and (water - level) * (level - start) > 0.0:
            reached = level
            end, water = root_of(lambda x: piece.water(x) - reached, 0.0, end), level
        return end, water, piece.water_time(end, water, took if end == gained else front.time(end))

    def _book(self, took: float, inflow: float, surface: float, root: float, spilt: float = 0.0) -> None:
        """Set the stores, and add the water to the flows."""
        flows = self.flows
        applied = inflow * took
        infiltrated = applied - (surface - self.surface) - spilt
        lost = infiltrated - (root - self.root)
        drained = 0.0
        if max(root, self.root) > self.capacity:
            drained = lost - self.full_evaporation * took
        flows.applied += applied
        flows.runoff += spilt
        flows.infiltrated += infiltrated
        flows.evaporated += lost - drained
        flows.drained += drained
        self.surface, self.root = surface, root

    def _loss(self) -> float:
        """Return percolation and evapotranspiration now, L/s."""
        root = self.root
        if root <= self.wilting:
            return 0.0
        if root < self.stress:
            return self.full_evaporation * (root - self.wilting) / (self.stress - self.wilting)
        return max(0.0, root - self.capacity) / self.soil.drainage_s + self.full_evaporation

    def _coefficients(self, rising: bool) -> tuple[float, float]:
        """Return a and b of dW/dt = k S - a W + b, in the band that the root zone is in or about to enter."""
        root = self.root + (tolerances.LEVEL if rising else -tolerances.LEVEL)
        if root < self.wilting:
            return 0.0, 0.0
        if root < self.stress:
            a = self.full_evaporation / (self.stress - self.wilting)
            return a, a * self.wilting
        if root < self.capacity:
            return 0.0, -self.full_evaporation
        a = 1.0 / self.soil.drainage_s
        return a, a * self.capacity - self.full_evaporation


def _next_level(levels: tuple[float, ...], content: float, rising: bool) -> float | None:
    """Return the nearest level ahead."""
    if rising:
        index = bisect_right(levels, content + tolerances.LEVEL)
        return levels[index] if index < len(levels) else None
    index = bisect_left(levels, content - tolerances.LEVEL)
    return levels[index - 1] if index else None
