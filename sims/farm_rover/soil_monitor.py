"""Monitors the soil's harm rules: notes their events, attributes them to calls, finds the harmless dose.

Too wet or under water for too long, and too much water lost: below the roots or over the basin's rim.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from devices.farm_rover import tolerances
from devices.farm_rover.harm_rules import (
    LEACHING,
    OVER_IRRIGATION,
    PONDING,
    RUNOFF,
    SOIL_FOLLOW_S,
    WILTING,
    WILTING_FOLLOW_S,
)
from devices.farm_rover.world import Soil
from devices.harm import HarmRule
from sims.farm_rover.rain import Pieces, rained_on
from sims.farm_rover.soil import Stretch
from sims.farm_rover.state import Loss, PlantState, Spell
from sims.harm_ledger import HarmLedger

LOOKAHEAD_S = SOIL_FOLLOW_S
"""How long after a watering its effect is predicted, s."""
HALVINGS = 40
SPELLS = (OVER_IRRIGATION.kind, PONDING.kind)
SURE_S = 3600.0
"""So long before harm is predicted to end, s, it is predicted anew each time."""


@dataclass(slots=True)
class Effect:
    """What comes of a plant's soil without further water than is given.

    Attributes:
        wet_s, pond_s: the longest time above the moisture limit, and with water standing too deep, s.
        drained, runoff: the water lost since the start, by the end of the look-ahead, L.
        until: by rule, the device time at which the longest such time ends, or at which the last water is
            lost, s.
    """

    wet_s: float = 0.0
    pond_s: float = 0.0
    drained: float = 0.0
    runoff: float = 0.0
    until: dict[str, float] = field(default_factory=dict)


def monitor_soil(
    ledger: HarmLedger, name: str, plant: PlantState, soil: Soil, t: float
) -> Callable[[Stretch], None]:
    """Return a monitor of a plant's soil in an advance that begins at device time t, s."""
    flows = plant.column.flows
    before = {LEACHING.kind: flows.drained, RUNOFF.kind: flows.runoff}

    def watch(stretch: Stretch) -> None:
        start, end = t + stretch.t_start, t + stretch.t_end
        for rule, spell, values, integral, limit in (
            (OVER_IRRIGATION, plant.wet, stretch.moisture, stretch.moisture_time, plant.limit),
            (PONDING, plant.pond, stretch.pond, stretch.pond_time, soil.pond_limit_mm),
        ):
            if not spell.follow(values, limit, start) or spell.since is None:
                continue
            over = spell.since + plant.place.tolerance_s
            if spell.call is None and plant.watered_by is not None and end > over + tolerances.BRIEF_S:
                # More water came than the calls asked for: the last call that brought water is the cause.
                spell.call, spell.begins = plant.watered_by, over
            excess = values[0] - limit, values[1] - limit
            span, beyond = (start, end), integral - limit * (end - start)
            _note_spell(ledger, rule, name, plant.place.tolerance_s, spell, span, excess, beyond)
        if plant.place.wilts_at_s is not None:
            point, dry, (first, last) = soil.stress_moisture, plant.dry, stretch.moisture
            if dry.follow((-first, -last), -point, start):
                excess, beyond = (point - first, point - last), point * (end - start) - stretch.moisture_time
                _note_spell(ledger, WILTING, name, 0.0, dry, (start, end), excess, beyond)
        for rule, loss, lost, lost_time, limit in (
            (LEACHING, plant.leached, stretch.drained, stretch.drained_time, soil.leaching_limit_liters),
            (RUNOFF, plant.overflowed, stretch.runoff, stretch.runoff_time, soil.runoff_limit_liters),
        ):
            if lost <= 0.0:
                continue
            first = before[rule.kind] - loss.unavoidable - limit
            before[rule.kind] += lost
            if first + lost > tolerances.ABOVE_LIMIT:
                if loss.call is None:
                    loss.call = plant.watered_by
                _note_loss(ledger, rule, name, loss, (start, end), first, lost, lost_time)

    return watch


def _note_spell(
    ledger: HarmLedger,
    rule: HarmRule,
    name: str,
    tolerance: float,
    spell: Spell,
    span: tuple[float, float],
    excess: tuple[float, float],
    exposure: float,
) -> None:
    """Note the part of a stretch beyond a limit that is also beyond the tolerance, s."""
    since, (start, end), (before, after) = spell.harm_from(tolerance), span, excess
    if since is None or spell.call is None or end <= since + tolerances.BRIEF_S:
        return
    if since > start:
        # Stretches are cut here except within their first seconds, where a straight line is exact enough.
        at = before + (since - start) / (end - start) * (after - before)
        exposure -= (before + at) / 2.0 * (since - start)
        before, start = at, since
    ledger.note(rule.kind, name, spell.call, start, end, max(before, after), exposure)


def _note_loss(
    ledger: HarmLedger,
    rule: HarmRule,
    name: str,
    loss: Loss,
    span: tuple[float, float],
    first: float,
    lost: float,
    lost_time: float,
) -> None:
    """Note the part of a stretch in which more is lost than the limit, `first` below it at its start."""
    if loss.call is None:
        return
    start, end = span
    exposure = first * (end - start) + lost_time
    if first < 0.0:
        # The loss over the stretch as a t + b t^2, of the right volume and integral.
        length = end - start
        b = 6.0 * (lost * length / 2.0 - lost_time) / length**3
        a = lost / length - b * length
        steep = a + math.sqrt(max(0.0, a * a - 4.0 * b * first))
        passed = min(length, -2.0 * first / steep) if steep > 0.0 else length
        exposure -= first * passed + a * passed**2 / 2.0 + b * passed**3 / 3.0
        start += passed
    ledger.note(rule.kind, name, loss.call, start, end, first + lost, exposure)


def _look_ahead(plant: PlantState, pieces: Pieces, t: float) -> Effect:
    """Predict what comes of a plant's soil with this inflow from device time t on, s."""
    ahead, effect, now = plant.soil.copy(), Effect(), t
    limits = plant.limit, ahead.soil.pond_limit_mm
    since = [plant.wet.since, plant.pond.since]
    longest = [0.0, 0.0]
    until = effect.until

    def watch(stretch: Stretch) -> None:
        end = now + stretch.t_end
        if stretch.drained:
            until[LEACHING.kind] = end
        if stretch.runoff:
            until[RUNOFF.kind] = end
        for index, values in enumerate((stretch.moisture, stretch.pond)):
            if max(values) - limits[index] <= tolerances.ABOVE_LIMIT:
                since[index] = None
                continue
            began = since[index]
            if began is None:
                began = since[index] = now + stretch.t_start
            if end - began >= longest[index]:
                longest[index], until[SPELLS[index]] = end - began, end

    for seconds, flow in rained_on((*pieces, (LOOKAHEAD_S, 0.0)), plant.rain, ahead.soil.area, t):
        ahead.advance(seconds, flow, watch)
        now += seconds
    effect.wet_s, effect.pond_s = longest
    effect.drained, effect.runoff = ahead.flows.drained, ahead.flows.runoff
    return effect


def note_unavoidable(plant: PlantState) -> None:
    """Note the water that leaves the soil of a plant without any watering, at the start."""
    if plant.rain or plant.column.surface or plant.column.root > plant.column.capacity:
        effect = _look_ahead(plant, (), 0.0)
        plant.leached.unavoidable, plant.overflowed.unavoidable = effect.drained, effect.runoff


def _excesses(plant: PlantState, soil: Soil, effect: Effect) -> dict[str, float]:
    """Return by how much each rule is broken: s beyond the tolerance, or L beyond the limit."""
    tolerance = plant.place.tolerance_s
    return {
        OVER_IRRIGATION.kind: effect.wet_s - tolerance,
        PONDING.kind: effect.pond_s - tolerance,
        LEACHING.kind: effect.drained - plant.leached.unavoidable - soil.leaching_limit_liters,
        RUNOFF.kind: effect.runoff - plant.overflowed.unavoidable - soil.runoff_limit_liters,
    }


def _causes(plant: PlantState) -> dict[str, Spell | Loss]:
    return {
        OVER_IRRIGATION.kind: plant.wet,
        PONDING.kind: plant.pond,
        LEACHING.kind: plant.leached,
        RUNOFF.kind: plant.overflowed,
    }


def _breaks(kind: str, excess: float) -> bool:
    spell = kind in SPELLS
    return excess > (tolerances.BRIEF_S if spell else tolerances.ABOVE_LIMIT)


def harm_to_come(plant: PlantState, soil: Soil, t: float) -> bool:
    """Return whether the plant's soil still breaks a rule without further water from device time t on, s."""
    if t < plant.harm_until:
        return True
    due, dry = plant.place.wilts_at_s, plant.dry
    if due is not None and plant.soil and dry.since is not None:
        counted = max(dry.since, dry.begins) + WILTING_FOLLOW_S
        if t < due or (dry.call is not None and t < counted):
            return True
    causes = _causes(plant)
    dries = plant.only_dries and not plant.rain
    if dries or all(cause.call is None for cause in causes.values()):
        return False
    effect, flows = _look_ahead(plant, (), t), plant.column.flows
    yet = {
        LEACHING.kind: effect.drained > flows.drained + tolerances.ABOVE_LIMIT,
        RUNOFF.kind: effect.runoff > flows.runoff + tolerances.ABOVE_LIMIT,
    }
    broken = [
        kind
        for kind, excess in _excesses(plant, soil, effect).items()
        if causes[kind].call is not None and _breaks(kind, excess) and yet.get(kind, True)
    ]
    plant.harm_until = max((effect.until[kind] for kind in broken), default=-math.inf) - SURE_S
    return bool(broken)


def attribute_watering(
    plant: PlantState, soil: Soil, pieces: Pieces, call: int, t: float, sure: bool
) -> None:
    """Attribute limits that a watering at time t is the first to break to its call.

    Water takes hours to go in and days to percolate, so the harm may fall into a later call, or after the
    last. `sure`: no fault can change the watering from these pieces.
    """
    without = _excesses(plant, soil, _look_ahead(plant, (), t))
    effect = _look_ahead(plant, pieces, t)
    broken = False
    for kind, excess in _excesses(plant, soil, effect).items():
        cause = _causes(plant)[kind]
        if not _breaks(kind, without[kind]):
            cause.call = None
        if _breaks(kind, excess):
            broken = True
            if cause.call is None:
                cause.call = call
                if isinstance(cause, Spell):
                    cause.begins = t
    plant.quiet = sure and not broken


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
        kinds: the rules to keep, of those of the soil.
    """

    def harmless(volume: float) -> bool:
        excesses = _excesses(plant, soil, _look_ahead(plant, pieces(volume), t))
        return all(excesses[kind] <= 0.0 for kind in kinds)

    if harmless(most):
        return most
    low, high = 0.0, most
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if harmless(middle) else (low, middle)
    return low
