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

import copy
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
FIRST_STEP_S, STEP_GROWTH, LONGEST_STEP_S = 5.0, 1.08, 3600.0
NEWTON_STEPS = 5


@dataclass(slots=True)
class _Rule:
    """What a rule has come to at each point: arrays of the points' shape."""

    limit: float
    severity: Floats
    exposure: Floats
    start: Floats
    end: Floats

    def taken(self, rows: Sequence[int]) -> _Rule:
        """Return a copy with these rows."""
        parts = (self.severity, self.exposure, self.start, self.end)
        return _Rule(self.limit, *(part[rows] for part in parts))

    def note(self, t: float, seconds: Floats | float, excess: Floats) -> None:
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
        self.soil, self.plant = world.soil, world.plants[plant]

    def factor(self, shares: Floats) -> Floats:
        """Return the factors on the suction head at these shares of its distribution."""
        # The logistic distribution of that deviation, which has a closed inverse.
        scale = np.log(SUCTION_FACTOR) * np.sqrt(3.0) / np.pi
        factors: Floats = np.exp(scale * np.log(shares / (1.0 - shares)))
        return factors

    def begin(self, moisture: Floats, hidden: Mapping[str, Floats], shares: Floats) -> SoilGrid:
        """Return all points at device time 0, for one member."""
        return SoilGrid(self, moisture, hidden, shares)

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
        members = len(given[0][2])
        grid = self.begin(moisture, hidden, shares).taken([0] * members)
        flows = [(begin, until, liters / (until - begin)) for begin, until, liters in given if until > begin]
        changes = {t for begin, until, _ in flows for t in (begin, until)}
        # Without water nothing comes of it but what the sensors see meanwhile.
        watered = any(liters.any() for _, _, liters in given)
        last = end if watered else max(moments, default=0.0)
        waiting = list(moments)
        seen: dict[str, list[Floats]] = {name: [] for name in self.sensors}
        for stop in sorted({*(t for t in changes if t < last), *moments, last} - {0.0}):
            now = grid.t + GRID_TIME_S
            inflow = sum((flow for a, b, flow in flows if a <= now < b), np.zeros(members))
            grid.advance(stop, inflow)
            if waiting and stop >= waiting[0] - GRID_TIME_S:
                waiting.pop(0)
                for name, quantity in grid.quantities().items():
                    seen[name].append(quantity)
        if watered:
            grid.run_out()
        return FactorRun({name: np.array(values) for name, values in seen.items()}, grid.events())


class SoilGrid:
    """The soil under one plant at all points, for members that give it different water, at one moment.

    A last row gets no water: what it loses, no call has brought.

    Attributes:
        t: device time, s.
    """

    def __init__(
        self, part: SoilEnsemble, moisture: Floats, hidden: Mapping[str, Floats], shares: Floats
    ) -> None:
        soil, plant = part.soil, part.plant
        self._soil, self._part = soil, part
        area, volume = soil.area, soil.area * soil.root_depth * 1000.0
        self._conductivity = soil.conductivity_mm_h * hidden["infiltration"] * area / SECONDS_PER_HOUR
        self._suction = soil.suction_mm * part.factor(np.clip(shares[:, 3], 1e-3, 1.0 - 1e-3))
        self._by_gravity = shares[:, 4] < 0.5
        self._power = 2.0 * EXPONENTS[soil.texture] + 3.0
        published = TEXTURES[soil.texture].conductivity_mm_h
        self._fastest = published * hidden["drainage"] * area / SECONDS_PER_HOUR
        self._slowness = soil.drainage_s / hidden["drainage"]
        self._volume = volume
        self._wilting, self._capacity, self._saturation = (
            share * volume for share in (soil.wilting_point, soil.field_capacity, soil.saturation)
        )
        self._stress = self._capacity - soil.depletion_fraction * (self._capacity - self._wilting)
        self._most = soil.evapotranspiration * area / SECONDS_PER_DAY
        wetter = soil.conductivity_mm_h * hidden["infiltration"] / 25.4
        self._recovery = 4.5 * SECONDS_PER_HOUR / np.sqrt(wetter)
        shape = 2, len(moisture)
        self.t, self._longest, self._inflow = 0.0, FIRST_STEP_S, np.zeros(2)
        self._root = np.broadcast_to(np.minimum(moisture, soil.saturation) * volume, shape).copy()
        self._surface = np.full(shape, plant.surface_liters)
        self._depth, self._deficit, self._drained, self._runoff, self._wet_s, self._pond_s = (
            np.zeros(shape) for _ in range(6)
        )
        self._dry = np.full(shape, np.inf)
        self._rules = {
            rule: _Rule(
                bound, np.zeros(shape), np.zeros(shape), np.full(shape, np.inf), np.full(shape, -np.inf)
            )
            for rule, bound in (
                (OVER_IRRIGATION, soil.limit_of(plant)),
                (PONDING, soil.pond_limit_mm),
                (LEACHING, soil.leaching_limit_liters),
                (RUNOFF, soil.runoff_limit_liters),
            )
        }

    def taken(self, members: Sequence[int]) -> SoilGrid:
        """Return a copy that has these members, by index."""
        rows = [*members, len(self._root) - 1]
        twin = copy.copy(self)
        for name in _CHANGING:
            setattr(twin, name, getattr(self, name)[rows])
        twin._rules = {rule: came.taken(rows) for rule, came in self._rules.items()}
        return twin

    def advance(self, until: float, inflow: Floats, *, last: bool = False) -> None:
        """Go on to this device time, s, with this inflow of each member, L/s.

        The steps are short after a change of the inflow, and grow. After the `last` ones only `events` hold.
        """
        inflow = np.append(inflow, 0.0)
        if not np.array_equal(inflow, self._inflow):
            self._inflow, self._longest = inflow, FIRST_STEP_S
        settled = False
        while until - self.t > GRID_TIME_S:
            dt = min(self._longest, until - self.t)
            settled = settled or (last and self._is_settled())
            if not settled:
                self._step(dt)
            else:
                self.t += dt
                if not self._note_losses(dt):
                    return
            self._longest = min(LONGEST_STEP_S, self._longest * STEP_GROWTH)

    def run_out(self) -> None:
        """Go on without water for as long as a rule counts what comes."""
        self.advance(self.t + SOIL_FOLLOW_S, np.zeros(len(self._root) - 1), last=True)

    def quantities(self) -> Mapping[str, Floats]:
        """Return what the sensors see without noise, members by points."""
        moisture, runoff = self._root[:-1] / self._volume, self._runoff[:-1]
        return dict(zip(self._part.sensors, (moisture, runoff, moisture), strict=True))

    def events(self) -> Mapping[str, GridEvents]:
        """Return the events so far."""
        events = {}
        for law, came in self._rules.items():
            cost = law.cost(came.severity, came.exposure)  # type: ignore[arg-type]
            more = (came.severity > law.trifle.severity(came.limit)) & (cost > law.trifling_cost(came.limit))
            happens = more & ~more[-1:] & np.isfinite(came.start)
            start, end, severity, exposure = (
                part[:-1] for part in (came.start, came.end, came.severity, came.exposure)
            )
            trifle = law.trifling_cost(came.limit)
            events[law.kind] = GridEvents(happens[:-1], start, end, severity, exposure, trifle)
        return events

    def _step(self, dt: float) -> None:
        """Take a step; what is nought at all points is left out, as most steps are of soil that dries."""
        self.t += dt
        saturation, gained = self._saturation, np.zeros(1)
        available = self._surface + (self._inflow * dt)[:, None]
        is_wet = available > DRY
        if is_wet.any():
            anew = is_wet & (self._dry >= self._recovery)
            if anew.any():
                self._depth[anew] = 0.0
                room = np.maximum(0.0, 1.0 - self._root / saturation)
                fresh = self._suction * room * self._soil.saturation * self._soil.area
                self._deficit[anew] = fresh[anew]
            gained = self._gained(available, dt)
            self._depth += gained
            surface = available - gained
            spilt = np.maximum(0.0, surface - self._soil.brim_liters)
            self._surface, self._runoff = surface - spilt, self._runoff + spilt
        self._dry = np.where(is_wet, 0.0, self._dry + dt)
        # Percolation and evapotranspiration, by the mean content of the step.
        content, root = self._root + gained / 2.0, self._root + gained
        if content.max() > self._capacity:
            loss = self._percolation(content, dt)
            root, self._drained = root - loss, self._drained + loss
        drying = (content - self._wilting) / (self._stress - self._wilting)
        root = root - self._most * dt * np.minimum(np.maximum(drying, 0.0), 1.0)
        over = np.maximum(0.0, root - saturation)
        self._root, self._drained = root - over, self._drained + over
        # The rules.
        wet, pond, _, _ = self._rules.values()
        spells = (
            (wet, self._root / self._volume, self._wet_s),
            (pond, self._surface / self._soil.area, self._pond_s),
        )
        for rule, values, spell in spells:
            if values.max() > rule.limit or spell.any():
                excess = values - rule.limit
                spell[...] = np.where(excess > 0.0, spell + dt, 0.0)
                rule.note(self.t, np.clip(spell - self._part.plant.tolerance_s, 0.0, dt), excess)
        self._note_losses(dt)

    def _gained(self, available: Floats, dt: float) -> Floats:
        """Return what goes in at each point, of this standing water."""
        gained, at = np.zeros(self._root.shape), np.nonzero(available > 0.0)
        gain = _ponded_gain(self._conductivity[at[1]], self._deficit[at], self._depth[at], dt)
        gained[at] = np.minimum(gain, available[at])
        return gained

    def _percolation(self, content: Floats, dt: float) -> Floats:
        """Return what percolates at each point, of this content of the root zone."""
        above, saturation, power = np.maximum(0.0, content - self._capacity), self._saturation, self._power
        loss: Floats = above * -np.expm1(-dt / self._slowness)
        at = np.nonzero((above > 0.0) & self._by_gravity)
        share = content[at] / saturation
        left = (share ** (1.0 - power) + (power - 1.0) * self._fastest[at[1]] * dt / saturation) ** (
            1.0 / (1.0 - power)
        )
        loss[at] = np.minimum(above[at], (share - left) * saturation)
        return loss

    def _note_losses(self, dt: float) -> bool:
        """Note what is lost beyond the limits at the end of a step; return whether any is."""
        _, _, leached, overflowed = self._rules.values()
        any_is = False
        for rule, total in ((leached, self._drained), (overflowed, self._runoff)):
            if total.max() > rule.limit:
                excess = total - total[-1:] - rule.limit
                if (excess > 0.0).any():
                    rule.note(self.t, dt, excess)
                    any_is = True
        return any_is

    def _is_settled(self) -> bool:
        """Return whether no soil can ever be too wet again, or lose water, without further water."""
        wet, pond, _, _ = self._rules.values()
        surface, root = self._surface.max(), self._root.max()
        under = root <= self._capacity and root / self._volume <= wet.limit
        dry = surface <= DRY and surface / self._soil.area <= pond.limit and not self._inflow.any()
        return bool(under and dry and not (self._wet_s.any() or self._pond_s.any()))


_CHANGING = (
    "_inflow", "_root", "_surface", "_depth", "_deficit", "_drained", "_runoff", "_wet_s", "_pond_s", "_dry",
)  # fmt: skip


def _ponded_gain(k: Floats, g: Floats, depth: Floats, t: float) -> Floats:
    """Return what goes in under standing water within a time, s, as `WettingFront.gained`."""
    g = np.maximum(g, GRID_DEFICIT)
    x = k * t + np.sqrt(2.0 * g * k * t)
    for _ in range(NEWTON_STEPS):
        total = depth + x
        x = np.maximum(x - (x - g * np.log1p(x / (depth + g)) - k * t) * (total + g) / total, GRID_DEPTH)
    return x
