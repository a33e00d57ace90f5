"""Water in the soil under one plant: a surface store that seeps into a root zone, solved in closed form.

Two stores, in litres over the wetted area A: S stands on the surface, W is in the root zone. With inflow q,

    dS/dt = q - S/tau_i - runoff          dW/dt = S/tau_i - D(W) - E(W)

- Infiltration S/tau_i is Darcy's law through the soil's crust under the head of standing water, the
  falling-head limit of Green and Ampt (1911); it makes moisture lag the watering by minutes. A saturated
  root zone takes in only what it loses.
- Percolation D = max(0, W - W_fc)/tau_d: FAO-56 lets all water above field capacity go within the day
  (eq. 88); here it goes with the time constant of a linear reservoir.
- Evapotranspiration E = Ks ETc A, with Ks of FAO-56 eq. 84: 1 until the share p of the available water is
  used (eqs. 82 and 83), then in proportion to what is left, 0 at the wilting point.
- What stands higher than the basin's rim runs off. The balance is that of FAO-56 eq. 85.

Between the levels at which a coefficient changes the system is linear, so each piece is exact: the result
does not depend on the steps, and the water balance closes to rounding.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from devices.farm_rover import tolerances
from devices.farm_rover.world import Plant, Soil
from sims.farm_rover.soil_piece import LinearPiece

SECONDS_PER_DAY = 86400.0


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of an advance in which moisture and standing water only rise, or only fall.

    Attributes:
        t_start, t_end: s after the start of the advance.
        moisture: of the root zone at start and end, m3/m3.
        pond: depth of standing water at start and end, mm.
        moisture_time, pond_time: their integrals over time.
    """

    t_start: float
    t_end: float
    moisture: tuple[float, float]
    pond: tuple[float, float]
    moisture_time: float
    pond_time: float


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
        flows: totals since the start.
    """

    soil: Soil
    root_levels: tuple[float, ...]
    surface_levels: tuple[float, ...]
    surface: float
    root: float
    flows: Flows = field(default_factory=Flows)
    # Contents of the root zone, L, and flows, L/s, of the equations.
    wilting: float = field(init=False)
    stress: float = field(init=False)
    capacity: float = field(init=False)
    saturation: float = field(init=False)
    rim: float = field(init=False)
    full_evaporation: float = field(init=False)

    def __post_init__(self) -> None:
        soil = self.soil
        volume = self.volume
        self.wilting = soil.wilting_point * volume
        self.capacity = soil.field_capacity * volume
        self.saturation = soil.saturation * volume
        self.stress = self.capacity - soil.depletion_fraction * (self.capacity - self.wilting)
        self.rim = soil.rim_mm * soil.area
        self.full_evaporation = soil.evapotranspiration * soil.area / SECONDS_PER_DAY

    @classmethod
    def under(cls, plant: Plant, soil: Soil) -> SoilColumn:
        """Return the column of a plant, whose stretches are also split at its moisture and pond limits."""
        volume = soil.area * soil.root_depth * 1000.0
        available = soil.field_capacity - soil.wilting_point
        stress = soil.field_capacity - soil.depletion_fraction * available
        levels = {soil.wilting_point, stress, soil.field_capacity, soil.saturation, plant.moisture_limit}
        ponds = {soil.rim_mm * soil.area, soil.pond_limit_mm * soil.area}
        return cls(
            soil,
            tuple(sorted(level * volume for level in levels)),
            tuple(sorted(ponds)),
            plant.surface_liters,
            plant.moisture * volume,
        )

    @property
    def volume(self) -> float:
        """Volume of the root zone, L."""
        return self.soil.area * self.soil.root_depth * 1000.0

    @property
    def moisture(self) -> float:
        """Root-zone moisture, m3/m3."""
        return self.root / self.volume

    def __deepcopy__(self, _memo: dict[int, Any]) -> SoilColumn:
        """Copy what changes; soil and levels are shared."""
        twin = copy.copy(self)
        twin.flows = copy.copy(self.flows)
        return twin

    def copy(self) -> SoilColumn:
        """Return a column in the same state, for looking ahead."""
        return SoilColumn(self.soil, self.root_levels, self.surface_levels, self.surface, self.root)

    def advance(
        self, seconds: float, inflow: float = 0.0, watch: Callable[[Stretch], None] | None = None
    ) -> None:
        """Advance under a constant inflow, L/s; report each stretch to `watch`."""
        passed = 0.0
        while seconds - passed > tolerances.SOIL_TIME_S:
            surface, root = self.surface, self.root
            took, water_time, surface_time = self._piece(seconds - passed, inflow)
            if watch is not None:
                area, volume = self.soil.area, self.volume
                watch(
                    Stretch(
                        passed,
                        passed + took,
                        (root / volume, self.root / volume),
                        (surface / area, self.surface / area),
                        water_time / volume,
                        surface_time / area,
                    )
                )
            passed += took

    def _piece(self, longest: float, inflow: float) -> tuple[float, float, float]:
        """Advance to the next change of a coefficient; return the length and both stores' integrals, L s."""
        k = 1.0 / self.soil.infiltration_s
        drained, evaporated = self._losses()
        loss = drained + evaporated
        net = k * self.surface - loss
        at_rim = self.surface >= self.rim - tolerances.LEVEL
        if self.root >= self.saturation - tolerances.LEVEL and net > tolerances.NET_FLOW:
            return self._saturated_piece(longest, inflow, loss, at_rim)
        spills = at_rim and inflow - k * self.surface > tolerances.NET_FLOW
        a, b = self._coefficients(rising=net >= 0.0)
        piece = LinearPiece(k, self.surface if spills else inflow / k, self.surface, self.root, a, b)
        filling = not spills and inflow > k * self.surface
        edge = _next_level(self.surface_levels, self.surface, filling)
        took = min(longest, piece.extremum(), piece.surface_crossing(edge))
        root = piece.root(took)
        level = _next_level(self.root_levels, self.root, root > self.root)
        if level is not None and (root - level) * (level - self.root) > 0.0:
            took, root = piece.root_crossing(level, took), level
        surface = self.surface if spills else piece.surface(took)
        infiltrated = k * self.surface * took if spills else inflow * took - (surface - self.surface)
        self._book(took, inflow, infiltrated, surface, root)
        return took, piece.root_time(took), piece.surface_time(took)

    def _saturated_piece(
        self, longest: float, inflow: float, loss: float, at_rim: bool
    ) -> tuple[float, float, float]:
        """Advance with a full root zone, which takes in only what it loses, so that water stands on it."""
        slope = 0.0 if at_rim and inflow > loss else inflow - loss
        took, surface = longest, self.surface
        if slope:
            limits = [loss * self.soil.infiltration_s] if slope < 0.0 else []
            edge = _next_level(self.surface_levels, self.surface, slope > 0.0)
            if edge is not None:
                limits.append(edge)
            target = max(limits, default=None) if slope < 0.0 else min(limits, default=None)
            surface = self.surface + slope * took
            if target is not None and (surface - target) * slope >= 0.0:
                took, surface = (target - self.surface) / slope, target
        integrals = self.root * took, (self.surface + surface) / 2.0 * took
        self._book(took, inflow, loss * took, surface, self.root)
        return took, *integrals

    def _book(self, took: float, inflow: float, infiltrated: float, surface: float, root: float) -> None:
        """Set the stores, and add the water to the flows."""
        flows = self.flows
        flows.applied += inflow * took
        flows.infiltrated += infiltrated
        flows.runoff += inflow * took - infiltrated - (surface - self.surface)
        lost = infiltrated - (root - self.root)
        evaporated = lost if max(root, self.root) <= self.stress else self.full_evaporation * took
        flows.evaporated += evaporated
        flows.drained += lost - evaporated
        self.surface, self.root = surface, root

    def _losses(self) -> tuple[float, float]:
        """Return percolation and evapotranspiration now, L/s."""
        if self.root <= self.wilting:
            return 0.0, 0.0
        if self.root < self.stress:
            share = (self.root - self.wilting) / (self.stress - self.wilting)
            return 0.0, self.full_evaporation * share
        return max(0.0, self.root - self.capacity) / self.soil.drainage_s, self.full_evaporation

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
        return next((level for level in levels if level > content + tolerances.LEVEL), None)
    return next((level for level in reversed(levels) if level < content - tolerances.LEVEL), None)
