"""The farm's harm rules at work: soil, doses, and the rover's footprint on beds and obstacles."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

from devices.farm_rover.harm_rules import (
    BED_CROSSING,
    COLLISION,
    OVER_IRRIGATION,
    PESTICIDE_OVERDOSE,
    PONDING,
)
from devices.farm_rover.world import Soil
from sims.clock import TICKS_PER_SECOND
from sims.farm.geometry import Box, Point, Shape
from sims.farm.soil import SoilColumn, Stretch
from sims.farm.state import PlantState
from sims.harm_ledger import HarmLedger

ABOVE = 1e-9
"""A limit counts as passed when it is exceeded by more than this, in the rule's unit."""
LOOKAHEAD_S = 3600.0
"""How long after a watering its effect is looked for; moisture peaks within minutes."""
HALVINGS = 40


def watch_soil(
    ledger: HarmLedger, name: str, plant: PlantState, soil: Soil, t: float
) -> Callable[[Stretch], None]:
    """A watch over one advance that begins at device time t, s: notes over-irrigation and ponding."""
    limit = plant.place.moisture_limit

    def watch(stretch: Stretch) -> None:
        start, end = t + stretch.t_start, t + stretch.t_end
        excess = max(stretch.moisture) - limit
        if excess > ABOVE and plant.drowned_by is not None:
            exposure = stretch.moisture_time - limit * (end - start)
            ledger.note(OVER_IRRIGATION.kind, name, plant.drowned_by, start, end, excess, exposure)
        excess = max(stretch.pond) - soil.pond_limit_mm
        if excess > ABOVE and plant.ponded_by is not None:
            exposure = stretch.pond_time - soil.pond_limit_mm * (end - start)
            ledger.note(PONDING.kind, name, plant.ponded_by, start, end, excess, exposure)

    return watch


def _peaks(column: SoilColumn, liters: float, flow: float) -> tuple[float, float]:
    """The highest moisture (m3/m3) and the deepest pond (mm) to come if that much is pumped from now on."""
    ahead = column.copy()
    moisture, pond = 0.0, 0.0

    def watch(stretch: Stretch) -> None:
        nonlocal moisture, pond
        moisture, pond = max(moisture, *stretch.moisture), max(pond, *stretch.pond)

    if liters > 0.0:
        ahead.advance(liters / flow, flow, watch)
    ahead.advance(LOOKAHEAD_S, 0.0, watch)
    return moisture, pond


def blame_watering(plant: PlantState, soil: Soil, liters: float, flow: float, call: int) -> None:
    """Before a watering: the call answers for a limit that it is the first to push the soil past.

    Moisture lags by minutes, so the peak may fall into a later call, or after the last.
    """
    moisture, pond = _peaks(plant.soil, 0.0, flow)
    if moisture <= plant.place.moisture_limit + ABOVE:
        plant.drowned_by = None
    if pond <= soil.pond_limit_mm + ABOVE:
        plant.ponded_by = None
    moisture, pond = _peaks(plant.soil, liters, flow)
    if moisture > plant.place.moisture_limit + ABOVE and plant.drowned_by is None:
        plant.drowned_by = call
    if pond > soil.pond_limit_mm + ABOVE and plant.ponded_by is None:
        plant.ponded_by = call


def harmless_dose(plant: PlantState, soil: Soil, liters: float, flow: float) -> float:
    """The largest part of a dose of water, L, that pushes the soil past no limit; whole ticks of pumping."""

    def harmless(dose: float) -> bool:
        moisture, pond = _peaks(plant.soil, dose, flow)
        return moisture <= plant.place.moisture_limit and pond <= soil.pond_limit_mm

    if harmless(liters):
        return liters
    low, high = 0.0, liters
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if harmless(middle) else (low, middle)
    return low - low % (flow / TICKS_PER_SECOND)


def note_overdose(
    ledger: HarmLedger, name: str, plant: PlantState, before: float, call: int, t: float, seconds: float
) -> None:
    """After a spraying from `before` ml at a constant rate, begun at device time t: notes an overdose."""
    limit = plant.place.pesticide_limit_ml
    after = plant.pesticide_ml
    if after <= limit + ABOVE:
        return
    first = max(before, limit)
    share = (after - first) / (after - before)
    exposure = ((first + after) / 2.0 - limit) * share * seconds
    start = t + (1.0 - share) * seconds
    ledger.note(PESTICIDE_OVERDOSE.kind, name, call, start, t + seconds, after - limit, exposure)


class ContactWatch:
    """Which beds and obstacles the rover's footprint overlaps, for how long, and which call drove it there.

    What the rover stands in at the start of an episode is nobody's doing until it has left it.
    """

    def __init__(self, ledger: HarmLedger, shapes: Iterable[Shape], radius: float, start: Point) -> None:
        self._ledger = ledger
        self._shapes = tuple(shapes)
        self._radius = radius
        self._t = 0.0
        self._excused = {shape for shape in self._shapes if self._overlap(shape, start) > ABOVE}
        self._touched: dict[Shape, tuple[float, int]] = {}

    def _overlap(self, shape: Shape, point: Point) -> float:
        return self._radius - shape.distance(point)

    def near(self, points: list[Point]) -> bool:
        """Whether a drive along these corners overlaps anything at all."""
        legs = list(pairwise(points)) or [(points[0], points[0])]
        return any(
            shape.segment_distance(a, b) < self._radius - ABOVE for shape in self._shapes for a, b in legs
        )

    def moved(self, point: Point, call: int) -> None:
        """The rover comes to this point at the end of this step of a call."""
        for shape in self._shapes:
            depth = self._overlap(shape, point)
            if depth <= ABOVE:
                self._touched.pop(shape, None)
                self._excused.discard(shape)
            elif shape not in self._excused:
                self._touched[shape] = depth, self._touched.get(shape, (depth, call))[1]

    def until(self, t: float) -> None:
        """Note what the footprint overlaps at the end of the step that ends at device time t, s."""
        for shape, (depth, call) in self._touched.items():
            rule = BED_CROSSING if isinstance(shape, Box) else COLLISION
            self._ledger.note(rule.kind, shape.name, call, self._t, t, depth, depth * (t - self._t))
        self._t = t
