"""The soil under one plant for many sets of unknowns at once: the grid of a twin.

The two stores of `sims.farm_rover.soil` for arrays of points, in steps of time, by several laws:

- infiltration by Green and Ampt, with the suction head of each point;
- percolation either linear (AquaCrop), or by gravity alone at the conductivity of Clapp and Hornberger
  (1978), "Empirical equations for some soil hydraulic properties", Water Resour. Res. 14(4), 601-604:
  K = Ks (W/W_s)^(2b + 3), with b by texture class of their table 2.

Its steps make it approximate (`tests/sims/farm_rover/test_soil_ensemble.py` says by how much): it weighs the
points, and the simulator plays the events that it finds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from devices.farm_rover.harm_rules import (
    LEACHING,
    OVER_IRRIGATION,
    PONDING,
    RUNOFF,
    SOIL_FOLLOW_S,
)
from devices.farm_rover.soil_texture import TEXTURES, Texture
from devices.farm_rover.tolerances import DRY, GRID_DEFICIT, GRID_DEPTH, GRID_TIME_S
from devices.farm_rover.world import FarmWorld
from sims.factors import FactorRun, GridEvents
from sims.farm_rover.soil import SECONDS_PER_DAY, SECONDS_PER_HOUR

Floats = NDArray[np.float64]

EXPONENTS = dict(
    zip(get_args(Texture), (4.05, 4.38, 4.9, 5.39, 5.3, 7.12, 8.52, 7.75, 10.4, 10.4, 11.4), strict=True)
)
"""b of Clapp and Hornberger."""
SUCTION_FACTOR = 5.0
"""Standard deviation of the suction head, as a factor: 4.1 to 6.7 by texture class (Rawls et al. 1983)."""
FIRST_STEP_S, STEP_GROWTH, LONGEST_STEP_S = 5.0, 1.04, 1800.0
NEWTON_STEPS = 5


@dataclass(slots=True)
class _Rule:
    """What a rule has come to at each point: arrays of the points' shape."""

    limit: float
    severity: Floats
    exposure: Floats
    start: Floats
    end: Floats

    def note(self, t: float, seconds: Floats, excess: Floats) -> None:
        """Add harm by this excess in the last seconds of a step that ends at device time t, s."""
        on = (seconds > 0.0) & (excess > 0.0)
        self.exposure += np.where(on, seconds * excess, 0.0)
        self.severity = np.where(on, np.maximum(self.severity, excess), self.severity)
        self.start = np.where(on, np.minimum(self.start, t - seconds), self.start)
        self.end = np.where(on, t, self.end)


class SoilEnsemble:
    """The soil of one plant, an independent part of the farm given the water that it gets.

    A point has five coordinates, each a share from 0 to 1 of its distribution: the moisture at the start, the
    hidden parameters `infiltration` and `drainage`, the suction head, and the law of percolation.
    """

    columns = 5
    hidden: tuple[str, ...] = ("infiltration", "drainage")

    def __init__(self, world: FarmWorld, plant: str) -> None:
        self.entity = plant
        self.start: tuple[str, ...] = ("plants", plant, "moisture")
        self.sensors: tuple[str, ...] = tuple(
            f"{kind}.{plant}" for kind in ("moisture", "runoff", "moisture_probe")
        )
        self._world = world

    def factor(self, shares: Floats) -> Floats:
        """Return the factors on the suction head at these shares of its distribution."""
        # The logistic distribution of that deviation, which has a closed inverse.
        scale = np.log(SUCTION_FACTOR) * np.sqrt(3.0) / np.pi
        factors: Floats = np.exp(scale * np.log(shares / (1.0 - shares)))
        return factors

    def run(
        self,
        moisture: Floats,
        hidden: Mapping[str, Floats],
        shares: Floats,
        given: Sequence[tuple[float, float, Floats]],
        moments: Sequence[float],
        end: float,
    ) -> FactorRun:
        """Run all points under the water of each member.

        Args:
            moisture: at the start, of each point, m3/m3.
            hidden: the parameters `hidden` of each point.
            shares: the coordinates of each point, points by `columns`.
            given: spans of device time, s, and what the soil gets in them for each member, L.
            moments: device times at which the sensors' quantities are wanted, s, ascending.
            end: device time at which the record ends, settling included, s.

        Returns:
            Quantities and events of members by points.
        """
        soil, plant = self._world.soil, self._world.plants[self.entity]
        area, volume = soil.area, soil.area * soil.root_depth * 1000.0
        conductivity = soil.conductivity_mm_h * hidden["infiltration"] * area / SECONDS_PER_HOUR
        suction = soil.suction_mm * self.factor(np.clip(shares[:, 3], 1e-3, 1.0 - 1e-3))
        by_gravity = shares[:, 4] < 0.5
        power = 2.0 * EXPONENTS[soil.texture] + 3.0
        published = TEXTURES[soil.texture].conductivity_mm_h
        fastest = published * hidden["drainage"] * area / SECONDS_PER_HOUR
        slowness = soil.drainage_s / hidden["drainage"]
        wilting, capacity, saturation = (
            share * volume for share in (soil.wilting_point, soil.field_capacity, soil.saturation)
        )
        stress = capacity - soil.depletion_fraction * (capacity - wilting)
        most = soil.evapotranspiration * area / SECONDS_PER_DAY
        recovery = 4.5 * SECONDS_PER_HOUR / np.sqrt(soil.conductivity_mm_h * hidden["infiltration"] / 25.4)
        rim, limit, tolerance = soil.brim_liters, soil.limit_of(plant), plant.tolerance_s

        # The last member gets no water: what it loses, no call has brought.
        flows = [(a, b, np.append(liters, 0.0)[:, None] / (b - a)) for a, b, liters in given if b > a]
        members = len(given[0][2]) + 1
        shape = members, len(moisture)
        root = np.broadcast_to(np.minimum(moisture, soil.saturation) * volume, shape).copy()
        surface, depth, deficit = np.full(shape, plant.surface_liters), np.zeros(shape), np.zeros(shape)
        dry = np.full(shape, np.inf)
        drained, runoff, wet_s, pond_s = (np.zeros(shape) for _ in range(4))
        wet, pond, leached, overflowed = (
            _Rule(bound, np.zeros(shape), np.zeros(shape), np.full(shape, np.inf), np.full(shape, -np.inf))
            for bound in (limit, soil.pond_limit_mm, soil.leaching_limit_liters, soil.runoff_limit_liters)
        )
        waiting = list(moments)
        seen: dict[str, list[Floats]] = {name: [] for name in self.sensors}
        # Without water nothing comes of it but what the sensors see meanwhile.
        watered = any(liters.any() for _, _, liters in given)
        last = end + SOIL_FOLLOW_S if watered else max(moments, default=0.0)
        for t, dt in _steps(flows, moments, last):
            begin = t - dt
            inflow = sum(
                (q for a, b, q in flows if a <= begin + GRID_TIME_S and begin + GRID_TIME_S < b),
                np.zeros((members, 1)),
            )
            incoming = inflow * dt
            available = surface + incoming
            is_wet = available > DRY
            anew = is_wet & (dry >= recovery)
            if anew.any():
                depth = np.where(anew, 0.0, depth)
                fresh = suction * np.maximum(0.0, 1.0 - root / saturation) * soil.saturation * area
                deficit = np.where(anew, fresh, deficit)
            dry = np.where(is_wet, 0.0, dry + dt)
            gained = np.zeros(shape)
            if is_wet.any():
                gained = np.minimum(_ponded_gain(conductivity, deficit, depth, dt), available)
                depth = depth + gained
                surface = available - gained
                spilt = np.maximum(0.0, surface - rim)
                surface, runoff = surface - spilt, runoff + spilt
            # Percolation and evapotranspiration, by the mean content of the step.
            content = root + gained / 2.0
            above = np.maximum(0.0, content - capacity)
            linear = above * -np.expm1(-dt / slowness)
            share = np.maximum(content, capacity) / saturation
            left = (share ** (1.0 - power) + (power - 1.0) * fastest * dt / saturation) ** (
                1.0 / (1.0 - power)
            )
            gravity = np.minimum(above, (share - left) * saturation)
            loss = np.where(by_gravity, gravity, linear)
            evaporated = most * dt * np.clip((content - wilting) / (stress - wilting), 0.0, 1.0)
            root = root + gained - loss - evaporated
            over = np.maximum(0.0, root - saturation)
            root, lost = root - over, loss + over
            drained = drained + lost
            # The rules.
            for rule, values, spell in ((wet, root / volume, wet_s), (pond, surface / area, pond_s)):
                excess = values - rule.limit
                spell[...] = np.where(excess > 0.0, spell + dt, 0.0)
                rule.note(t, np.clip(spell - tolerance, 0.0, dt), excess)
            for rule, total in ((leached, drained), (overflowed, runoff)):
                rule.note(t, np.full(shape, dt), total - total[-1:] - rule.limit)
            if waiting and t >= waiting[0] - GRID_TIME_S:
                waiting.pop(0)
                for name, quantity in zip(self.sensors, (root / volume, runoff, root / volume), strict=True):
                    seen[name].append(quantity[:-1])
        events = {}
        for law, came in ((OVER_IRRIGATION, wet), (PONDING, pond), (LEACHING, leached), (RUNOFF, overflowed)):
            cost = law.cost(came.severity, came.exposure)  # type: ignore[arg-type]
            more = (came.severity > law.trifle.severity(came.limit)) & (cost > law.trifling_cost(came.limit))
            happens = more & ~more[-1:] & np.isfinite(came.start)
            parts = (came.start, came.end, came.severity, came.exposure)
            events[law.kind] = GridEvents(happens[:-1], *(part[:-1] for part in parts))
        return FactorRun({name: np.array(values) for name, values in seen.items()}, events)


def _ponded_gain(k: Floats, g: Floats, depth: Floats, t: float) -> Floats:
    """Return what goes in under standing water within a time, s, as `WettingFront.gained`."""
    g = np.maximum(g, GRID_DEFICIT)
    x = k * t + np.sqrt(2.0 * g * k * t)
    for _ in range(NEWTON_STEPS):
        total = depth + x
        x = np.maximum(x - (x - g * np.log1p(x / (depth + g)) - k * t) * (total + g) / total, GRID_DEPTH)
    return x


def _steps(
    flows: Sequence[tuple[float, float, Floats]], moments: Sequence[float], last: float
) -> Sequence[tuple[float, float]]:
    """Return the end and the length of each step, s: short after each change of flow."""
    changes = sorted({t for a, b, _ in flows for t in (a, b)})
    stops = sorted({*(one for one in changes if one < last), *moments, last} - {0.0})
    steps, t, longest = [], 0.0, FIRST_STEP_S
    for stop in stops:
        while stop - t > GRID_TIME_S:
            dt = min(longest, stop - t)
            t += dt
            steps.append((t, dt))
            longest = min(LONGEST_STEP_S, longest * STEP_GROWTH)
        if stop in changes:
            longest = FIRST_STEP_S
    return steps
