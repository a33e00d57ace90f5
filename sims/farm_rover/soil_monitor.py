"""Monitors over-irrigation and ponding: notes them, attributes them to calls, and finds the harmless dose."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from devices.farm_rover import tolerances
from devices.farm_rover.harm_rules import OVER_IRRIGATION, PONDING
from devices.farm_rover.world import Soil
from sims.farm_rover.soil import Stretch
from sims.farm_rover.state import PlantState
from sims.harm_ledger import HarmLedger

LOOKAHEAD_S = 3600.0
"""How long after a watering its effect is predicted, s; moisture peaks within minutes."""
HALVINGS = 40

Pieces = Sequence[tuple[float, float]]
"""A flow of water in pieces: s, L/s."""


def monitor_soil(
    ledger: HarmLedger, name: str, plant: PlantState, soil: Soil, t: float
) -> Callable[[Stretch], None]:
    """Return a monitor of over-irrigation and ponding in an advance that begins at device time t, s."""
    limit = plant.place.moisture_limit

    def watch(stretch: Stretch) -> None:
        start, end = t + stretch.t_start, t + stretch.t_end
        excess = max(stretch.moisture) - limit
        if excess <= tolerances.ABOVE_LIMIT:
            plant.above_since = None
        else:
            if plant.above_since is None:
                plant.above_since = start
            since = plant.above_since + plant.place.tolerance_s
            if plant.drowned_by is None and plant.watered_by is not None and end > since + tolerances.BRIEF_S:
                # More water came than the calls asked for: the last call that brought water is the cause.
                plant.drowned_by, plant.drowned_from = plant.watered_by, since
            _note_over_irrigation(ledger, name, plant, stretch, start, end)
        excess = max(stretch.pond) - soil.pond_limit_mm
        if excess > tolerances.ABOVE_LIMIT:
            if plant.ponded_by is None:
                plant.ponded_by = plant.watered_by
            if plant.ponded_by is not None:
                exposure = stretch.pond_time - soil.pond_limit_mm * (end - start)
                ledger.note(PONDING.kind, name, plant.ponded_by, start, end, excess, exposure)

    return watch


def _note_over_irrigation(
    ledger: HarmLedger, name: str, plant: PlantState, stretch: Stretch, start: float, end: float
) -> None:
    """Note the part of a stretch above the limit that is beyond the plant's tolerance."""
    since = plant.over_irrigated_since
    if plant.drowned_by is None or since is None or end <= since + tolerances.BRIEF_S:
        return
    limit = plant.place.moisture_limit
    exposure = stretch.moisture_time - limit * (end - start)
    before, after = (moisture - limit for moisture in stretch.moisture)
    if since > start:
        # Stretches are cut here except within their first seconds, where a straight line is exact enough.
        share = (since - start) / (end - start)
        at = before + share * (after - before)
        exposure -= (before + at) / 2.0 * (since - start)
        before, start = at, since
    ledger.note(OVER_IRRIGATION.kind, name, plant.drowned_by, start, end, max(before, after), exposure)


def _look_ahead(plant: PlantState, pieces: Pieces, t: float) -> tuple[float, float]:
    """Predict the longest time (s) above the moisture limit and the deepest pond (mm) with this inflow."""
    ahead, limit = plant.soil.copy(), plant.place.moisture_limit
    since = plant.above_since
    longest, pond, now = 0.0, 0.0, t

    def watch(stretch: Stretch) -> None:
        nonlocal since, longest, pond
        pond = max(pond, *stretch.pond)
        if max(stretch.moisture) - limit <= tolerances.ABOVE_LIMIT:
            since = None
            return
        if since is None:
            since = now + stretch.t_start
        longest = max(longest, now + stretch.t_end - since)

    for seconds, flow in pieces:
        ahead.advance(seconds, flow, watch)
        now += seconds
    ahead.advance(LOOKAHEAD_S, 0.0, watch)
    return longest, pond


def harm_to_come(plant: PlantState, soil: Soil, t: float) -> bool:
    """Return whether the plant's soil still breaks a rule without further water from device time t on, s."""
    if plant.only_dries:
        return False
    longest, pond = _look_ahead(plant, (), t)
    drowns = plant.drowned_by is not None and longest > plant.place.tolerance_s + tolerances.BRIEF_S
    return drowns or (plant.ponded_by is not None and pond > soil.pond_limit_mm + tolerances.ABOVE_LIMIT)


def attribute_watering(
    plant: PlantState, soil: Soil, pieces: Pieces, call: int, t: float, sure: bool
) -> None:
    """Attribute limits that a watering at time t is the first to break to its call.

    Moisture lags by minutes, so the peak may fall into a later call, or after the last. `sure`: no fault can
    change the watering from these pieces.
    """
    longest, pond = _look_ahead(plant, (), t)
    tolerance = plant.place.tolerance_s
    if longest <= tolerance + tolerances.BRIEF_S:
        plant.drowned_by = None
    if pond <= soil.pond_limit_mm + tolerances.ABOVE_LIMIT:
        plant.ponded_by = None
    longest, pond = _look_ahead(plant, pieces, t)
    if longest > tolerance + tolerances.BRIEF_S and plant.drowned_by is None:
        plant.drowned_by, plant.drowned_from = call, t
    if pond > soil.pond_limit_mm + tolerances.ABOVE_LIMIT and plant.ponded_by is None:
        plant.ponded_by = call
    plant.quiet = sure and longest == 0.0 and pond <= soil.pond_limit_mm


def harmless_volume(
    plant: PlantState,
    soil: Soil,
    pieces: Callable[[float], Pieces],
    most: float,
    kinds: tuple[str, ...],
    t: float,
) -> float:
    """Return the largest volume of water, L, up to `most`, that breaks none of these rules on the plant.

    Args:
        plant, soil: as they are at device time t, s.
        pieces: the flow that brings a volume.
        most: tried first.
        kinds: the rules to keep, of `over_irrigation` and `ponding`.
    """

    def harmless(volume: float) -> bool:
        longest, pond = _look_ahead(plant, pieces(volume), t)
        too_long = longest > plant.place.tolerance_s
        too_deep = pond > soil.pond_limit_mm
        return not ((too_long and OVER_IRRIGATION.kind in kinds) or (too_deep and PONDING.kind in kinds))

    if harmless(most):
        return most
    low, high = 0.0, most
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if harmless(middle) else (low, middle)
    return low
