"""The farm's soil as it was until 0.1: a surface store that seeps in at its own rate, in closed form.

`benchmarks/soil.py` measures the speed of the present law against it; nothing else uses it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from devices.farm_rover import tolerances
from devices.farm_rover.world import Soil

SECONDS_PER_DAY = 86400.0
INFILTRATION_S, DRAINAGE_S = 150.0, 7200.0
"""Time constants of infiltration and of drainage, s."""
BISECTIONS = 60
TIME_CONSTANTS, EXTREMUM_S = 1e-9, 1e-6
"""Two time constants against each other, relative; an extremum against the begin of its piece, s."""


class LinearPiece:
    """Surface store S (L) and root-zone store W (L) from time 0 on, with constant coefficients.

    Args:
        k: infiltration rate constant, 1/s.
        s_inf: the surface store that the inflow would hold up, L; `s0` where the store stays at its rim.
        s0, w0: the stores at time 0, L.
        a: loss rate constant of the root zone, 1/s, 0 for none.
        b: constant gain of the root zone, L/s.
    """

    def __init__(self, k: float, s_inf: float, s0: float, w0: float, a: float, b: float) -> None:
        if a and abs(a - k) < TIME_CONSTANTS * k:
            a = k * (1.0 + TIME_CONSTANTS)
        self._k, self._s_inf, self._c, self._w0, self._a = k, s_inf, s0 - s_inf, w0, a
        self._gain = b + k * s_inf
        if a:
            self._p = k * self._c / (a - k)
            self._w_inf = self._gain / a
            self._q = w0 - self._w_inf - self._p

    def surface(self, t: float) -> float:
        """Return S at time t."""
        return self._s_inf + self._c * math.exp(-self._k * t)

    def root(self, t: float) -> float:
        """Return W at time t."""
        if not self._a:
            return self._w0 + self._gain * t - self._c * math.expm1(-self._k * t)
        return self._w_inf + self._p * math.exp(-self._k * t) + self._q * math.exp(-self._a * t)

    def surface_time(self, t: float) -> float:
        """Return the integral of S from 0 to t, L s."""
        return self._s_inf * t - self._c * math.expm1(-self._k * t) / self._k

    def root_time(self, t: float) -> float:
        """Return the integral of W from 0 to t, L s."""
        decay = -math.expm1(-self._k * t) / self._k
        if not self._a:
            return self._w0 * t + self._gain * t * t / 2.0 + self._c * (t - decay)
        return self._w_inf * t + self._p * decay - self._q * math.expm1(-self._a * t) / self._a

    def extremum(self) -> float:
        """Return the one time after 0 at which W stops rising or falling; infinite where there is none."""
        if not self._a:
            pull = self._k * self._c
            ratio = -self._gain / pull if pull else 0.0
            t = -math.log(ratio) / self._k if 0.0 < ratio < 1.0 else math.inf
            return t if t > EXTREMUM_S else math.inf
        slow = self._a * self._q
        ratio = -self._k * self._p / slow if slow else 0.0
        if ratio <= 0.0:
            return math.inf
        t = math.log(ratio) / (self._k - self._a)
        return t if t > EXTREMUM_S else math.inf

    def surface_crossing(self, level: float | None) -> float:
        """Return the time at which S reaches a level; infinite where it never does."""
        if level is None or not self._c:
            return math.inf
        ratio = (level - self._s_inf) / self._c
        return -math.log(ratio) / self._k if 0.0 < ratio < 1.0 else math.inf

    def root_crossing(self, level: float, before: float) -> float:
        """Return the time at which W, monotone until `before` and beyond the level by then, reaches it."""
        low, high = 0.0, before
        rising = level > self._w0
        for _ in range(BISECTIONS):
            middle = (low + high) / 2.0
            if (self.root(middle) >= level) == rising:
                high = middle
            else:
                low = middle
        return high


@dataclass(slots=True)
class Flows:
    """Totals of the flows since the start, L."""

    applied: float = 0.0
    infiltrated: float = 0.0
    drained: float = 0.0
    evaporated: float = 0.0
    runoff: float = 0.0


@dataclass(slots=True)
class LinearColumn:
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
    def under(cls, moisture: float, soil: Soil) -> LinearColumn:
        """Return the column of a plant with this moisture."""
        volume = soil.area * soil.root_depth * 1000.0
        available = soil.field_capacity - soil.wilting_point
        stress = soil.field_capacity - soil.depletion_fraction * available
        levels = {soil.wilting_point, stress, soil.field_capacity, soil.saturation, soil.saturation - 0.05}
        ponds = {soil.rim_mm * soil.area, soil.pond_limit_mm * soil.area}
        return cls(
            soil,
            tuple(sorted(level * volume for level in levels)),
            tuple(sorted(ponds)),
            0.0,
            moisture * volume,
        )

    @property
    def volume(self) -> float:
        """Volume of the root zone, L."""
        return self.soil.area * self.soil.root_depth * 1000.0

    @property
    def moisture(self) -> float:
        """Root-zone moisture, m3/m3."""
        return self.root / self.volume

    def advance(self, seconds: float, inflow: float = 0.0) -> None:
        """Advance under a constant inflow, L/s."""
        passed = 0.0
        while seconds - passed > tolerances.SOIL_TIME_S:
            took, *_ = self._piece(seconds - passed, inflow)
            passed += took

    def _piece(self, longest: float, inflow: float) -> tuple[float, float, float]:
        """Advance to the next change of a coefficient; return the length and both stores' integrals, L s."""
        k = 1.0 / INFILTRATION_S
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
            limits = [loss * INFILTRATION_S] if slope < 0.0 else []
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
        return max(0.0, self.root - self.capacity) / DRAINAGE_S, self.full_evaporation

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
        a = 1.0 / DRAINAGE_S
        return a, a * self.capacity - self.full_evaporation


def _next_level(levels: tuple[float, ...], content: float, rising: bool) -> float | None:
    """Return the nearest level ahead."""
    if rising:
        return next((level for level in levels if level > content + tolerances.LEVEL), None)
    return next((level for level in reversed(levels) if level < content - tolerances.LEVEL), None)
