"""A soil with other laws than the kit's, for rigs that a twin does not fit: both infiltration and drainage.

- Infiltration by Horton (1940), f = fc + (f0 - fc) exp(-kt), in its integrated form: what counts is what has
  gone in. EPA SWMM (Rossman and Huber 2016, reference manual I, section 4.2): f0 of a dry loam 3 in/h, a
  third of it at field capacity, fc near saturation; k 2 to 7 per hour, 4.14 where nothing was measured; fc is
  the saturated conductivity. f0 and fc both follow the rig's conductivity.
- Percolation by gravity alone, at the conductivity of Clapp and Hornberger (1978), "Empirical equations for
  some soil hydraulic properties", Water Resour. Res. 14(4), 601-604: K = Ks (W/W_s)^(2b + 3), b by texture
  class of their table 2. None below field capacity. The law is made linear between `KNOTS` contents, so that
  the column's solution stays exact and its balance closed.
"""

from __future__ import annotations

import copy
import math
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import numpy as np

from benchmarks.philip import PhilipColumn
from devices.farm_rover import tolerances
from devices.farm_rover.soil_texture import TEXTURES, drainage_s
from sims.farm_rover import state
from sims.farm_rover.green_ampt import ITERATIONS, WettingFront
from sims.farm_rover.soil import SECONDS_PER_HOUR, SoilColumn
from sims.farm_rover.soil_ensemble import EXPONENTS

DRY_MM_H, DRAINED_MM_H = 76.2, 25.4
"""Horton's first rate on a dry loam and at field capacity, mm/h."""
DECAY = 4.14 / SECONDS_PER_HOUR
"""Per second."""
KNOTS = 16
"""Contents between field capacity and saturation at which the drainage is exact."""

SoilLaw = Literal["", "philip", "field"]


@dataclass(slots=True)
class HortonFront(WettingFront):
    """A wetting front with Horton's law: `first` is the rate at its start, L/s, and `k` the last one."""

    first: float

    def _since(self, volume: float) -> float:
        """Return the time at which this volume (L) has gone in, s."""
        fast = self.first - self.k
        t = max(0.0, volume) / self.first
        for _ in range(ITERATIONS):
            # The curve is concave and t never beyond the root, so each step is forwards.
            left = math.exp(-DECAY * t)
            missing = volume - self.k * t - fast / DECAY * -math.expm1(-DECAY * t)
            if missing <= tolerances.ROOT * volume:
                break
            t += missing / (self.k + fast * left)
        return t

    def _volume(self, t: float) -> float:
        return self.k * t + (self.first - self.k) / DECAY * -math.expm1(-DECAY * t)

    def rate(self, gained: float) -> float:
        """Return the infiltration rate when this volume (L) has been added, L/s."""
        return self.k + (self.first - self.k) * math.exp(-DECAY * self._since(self.depth + gained))

    def time(self, gained: float) -> float:
        """Return the time that this volume (L) takes, s."""
        return self._since(self.depth + gained) - self._since(self.depth)

    def gained(self, t: float) -> float:
        """Return the volume infiltrated within a time (s), L."""
        return max(0.0, self._volume(self._since(self.depth) + t) - self.depth)

    def gained_time(self, gained: float) -> float:
        """Return the integral over time of the volume infiltrated, until it is `gained`, L s."""
        start, end = self._since(self.depth), self._since(self.depth + gained)
        t, most = end - start, (self.first - self.k) / DECAY
        early = math.exp(-DECAY * start) * math.expm1(-DECAY * t) / DECAY
        return self.k * (end * end - start * start) / 2.0 + most * (t + early) - self.depth * t

    def gained_at(self, rate: float) -> float:
        """Return the volume (L) until infiltration falls to a rate, L/s; infinite where it never does."""
        if rate <= self.k:
            return math.inf
        if rate >= self.first:
            return -self.depth
        return self._volume(math.log((self.first - self.k) / (rate - self.k)) / DECAY) - self.depth


class FieldColumn(SoilColumn):
    """A soil column with Horton's infiltration, and drainage by Clapp and Hornberger's conductivity."""

    _contents: tuple[float, ...]
    _drained: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        soil = self.soil
        published = TEXTURES[soil.texture].conductivity_mm_h
        # The rig's own drainage and infiltration are factors on the published ones.
        fastest = published * drainage_s(published) / soil.drainage_s * soil.area / SECONDS_PER_HOUR
        power = 2.0 * EXPONENTS[soil.texture] + 3.0
        contents = [float(one) for one in np.linspace(self.capacity, self.saturation, KNOTS)]
        self._contents = tuple(contents)
        self._drained = (0.0, *(fastest * (one / self.saturation) ** power for one in contents[1:]))
        self.root_levels = tuple(sorted({*self.root_levels, *contents[1:-1]}))

    def copy(self) -> SoilColumn:
        """Return a column in the same state."""
        twin = copy.copy(self)
        twin.flows = copy.copy(self.flows)
        return twin

    def _front(self) -> WettingFront:
        soil = self.soil
        moisture = soil.saturation - self.deficit / (soil.suction_mm * soil.area)
        last = soil.conductivity_mm_h
        share = last / TEXTURES[soil.texture].conductivity_mm_h
        levels = soil.wilting_point, soil.field_capacity, soil.saturation
        first = float(np.interp(moisture, levels, (DRY_MM_H * share, DRAINED_MM_H * share, last)))
        litres = soil.area / SECONDS_PER_HOUR
        return HortonFront(last * litres, self.deficit, self.depth, max(first, last) * litres)

    def _line(self, root: float) -> tuple[float, float]:
        """Return a and b of the loss a W - b, L/s, round a content above field capacity, L."""
        at = min(max(bisect_right(self._contents, root), 1), KNOTS - 1)
        (low, high), (least, most) = self._contents[at - 1 : at + 1], self._drained[at - 1 : at + 1]
        a = (most - least) / (high - low)
        return a, a * low - least - self.full_evaporation

    def _loss(self) -> float:
        if self.root <= self.capacity:
            return super()._loss()
        a, b = self._line(self.root)
        return a * self.root - b

    def _coefficients(self, rising: bool) -> tuple[float, float]:
        root = self.root + (tolerances.LEVEL if rising else -tolerances.LEVEL)
        return super()._coefficients(rising) if root < self.capacity else self._line(root)


COLUMNS: dict[SoilLaw, type[SoilColumn]] = {"": SoilColumn, "philip": PhilipColumn, "field": FieldColumn}


@contextmanager
def soil_law(name: SoilLaw) -> Iterator[None]:
    """Let every farm that is made meanwhile have this soil law; "": the kit's."""
    kept = state.SoilColumn
    try:
        state.SoilColumn = COLUMNS[name]  # type: ignore[misc]
        yield
    finally:
        state.SoilColumn = kept  # type: ignore[misc]
