"""The rover's battery, hopper and pesticide tank as stores that a twin weighs apart, and the tank's harm."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from devices.farm_rover.harm_rules import (
    BATTERY_RESERVE,
    DRY_PUMP,
    HOPPER_OVERFILL,
    PESTICIDE_OVERDOSE,
    PRE_HARVEST_INTERVAL,
    SPRAYING_IN_WIND,
    SPRAYING_NEAR_PERSON,
)
from devices.farm_rover.world import FarmWorld
from devices.harm import HarmEvent
from devices.sensors import SampleValue, SensorSpec
from sims.factors import GridEvents
from sims.farm_rover.fitted_sensors import (
    DRAWN,
    HEAPED,
    HOPPER_BARRIER,
    POURED,
    SPRAYED,
    SPRAYER,
    SPRAYER_S,
    SWAYED,
    WATER,
    deposit_on,
)
from sims.stores import Floats, Key, LevelRule, Phase, Span, Store, Supply, cost_of, events_of


def farm_stores(world: FarmWorld) -> Sequence[Store]:
    """Return battery, hopper and pesticide tank; not one with a finer sensor, or on which others depend."""
    specs, rover, hopper = world.sensors, world.rover, world.hopper
    found = []
    if rover.water_pump is None and specs.battery_gauge is None and _tells_changes(specs.battery):
        half = specs.battery.resolution / 2.0

        def charge_of(word: SampleValue) -> tuple[float, float]:
            charge = float(word)
            return (charge - half if charge > 0.0 else -math.inf), (
                charge + half if charge < 1.0 else math.inf
            )

        found.append(
            Store(
                "battery", ("battery",), ("draw",), True, DRAWN, {"battery": charge_of},
                LevelRule(BATTERY_RESERVE, rover.battery_reserve), ("sense_battery", "battery"),
                ("recharge", rover.charging_per_s), 1.0,
            )
        )  # fmt: skip
    if specs.fruit_scale is None and _tells_changes(specs.hopper_full):
        barrier = HOPPER_BARRIER * hopper.capacity

        def heap_of(word: SampleValue) -> tuple[float, float]:
            return (barrier, math.inf) if word else (-math.inf, barrier)

        holds = hopper.capacity * hopper.heaped_share
        found.append(
            Store(
                "hopper", (), ("fruit_size",), False, HEAPED, {"hopper_full": heap_of},
                LevelRule(HOPPER_OVERFILL, holds),
            )
        )  # fmt: skip
    if weighs_sprayer(world):
        tank = world.pesticide_tank
        found.append(
            Store(
                SPRAYER, ("pesticide_tank", "ml"), ("pesticide_flow",), True, SPRAYED,
                {"pesticide_tank_low": _content_of(specs.pesticide_tank_low)}, Sprays(world),
                filled=("refill_pesticide", tank.refill_ml_per_s), full=tank.capacity_ml,
            )
        )  # fmt: skip
    return found


def water_supply(world: FarmWorld) -> Supply | None:
    """Return the water tank; None where a finer sensor sees its level, or what it gives hangs on that."""
    spec, tank = world.sensors.water_tank_low, world.water_tank
    if (
        world.rover.water_pump is not None
        or world.sensors.tank_level is not None
        or not _tells_changes(spec)
        or spec.hysteresis
    ):
        return None
    store = Store(
        WATER, ("water_tank", "liters"), (), True, POURED, {"water_tank_low": _content_of(spec)},
        LevelRule(DRY_PUMP, 0.0), filled=("refill_water_tank", tank.refill_liters_per_s),
        full=tank.capacity_liters,
    )  # fmt: skip
    sway = {"stuck_valve": lambda strength: strength, "clogged_nozzle": lambda strength: 1.0 - strength}
    return Supply(store, WATER, SWAYED, sway, ("water_plant", "tank_liters"))


def _content_of(low: SensorSpec) -> Callable[[SampleValue], tuple[float, float]]:
    level = low.threshold or 0.0
    return lambda word: (-math.inf, level) if word else (level, math.inf)


def weighs_sprayer(world: FarmWorld) -> bool:
    """Return whether the pesticide tank is weighed apart: no finer sensor sees what leaves it."""
    spec = world.sensors.pesticide_tank_low
    return world.sensors.leaf_wetness is None and _tells_changes(spec) and not spec.hysteresis


@dataclass(frozen=True)
class Sprays:
    """The harm of what a tank of pesticide gives: too much on a plant, and a pump that runs dry.

    Of what a call takes the tank gives what it holds, all at first, and then nothing.
    """

    world: FarmWorld

    @property
    def meters(self) -> tuple[str, ...]:
        """What the sprayer gives, for how long it is on, and what falls on each plant."""
        return SPRAYER, SPRAYER_S, *map(deposit_on, self.world.plants)

    def events(
        self, store: Store, phases: Sequence[Phase], spans: Sequence[Span], size: Floats, end: float
    ) -> Mapping[Key, GridEvents]:
        """Return the harm of each point."""
        held, found = _held(store, phases, spans, size), {}
        for name, plant in self.world.plants.items():
            limit = plant.pesticide_limit_ml
            ends, lasts, given, share = _getting(spans, held, deposit_on(name))
            dose = share * size * given
            after = plant.pesticide_ml - limit + np.cumsum(dose, axis=0)
            before, above = np.maximum(0.0, after - dose), np.maximum(0.0, after)
            on = (dose > 0.0) & (after > 0.0)
            # The excess grows evenly.
            seconds = lasts * (above - before) / np.where(on, dose, 1.0)
            lasting = np.sum(on * seconds * (above + before) / 2.0, axis=0)
            severity = np.where(on, above, 0.0).max(axis=0, initial=0.0)
            rule = PESTICIDE_OVERDOSE
            found[rule.kind, name] = events_of(rule, limit, *_when(on, ends, seconds), severity, lasting)
        ends, lasts, given, share = _getting(spans, held, SPRAYER_S)
        dry = (1.0 - share) * given
        on, lasting = dry > 0.0, dry.sum(axis=0)
        severity = (lasting > 0.0).astype(float)
        found[DRY_PUMP.kind, SPRAYER] = events_of(DRY_PUMP, 0.0, *_when(on, ends, dry), severity, lasting)
        return found

    def ahead(
        self, store: Store, phases: Sequence[Phase], spans: Sequence[Span], size: Floats
    ) -> Mapping[Key, NDArray[np.bool_]]:
        """Return where a call does harm: costs more than without it."""
        made, without = (
            self.events(store, phases, some, size, 0.0) for some in (spans, spans[:-1] or [NOTHING])
        )
        harmful = {}
        for key, found in made.items():
            rule = DRY_PUMP if key[0] == DRY_PUMP.kind else PESTICIDE_OVERDOSE
            more = cost_of(rule, found) - cost_of(rule, without[key])
            harmful[key] = found.happens & (more > found.trifle)
        return harmful

    def bears_out(
        self, store: Store, phases: Sequence[Phase], spans: Sequence[Span], size: Floats, event: HarmEvent
    ) -> NDArray[np.bool_] | None:
        """Return where a member's event of spraying, or of a plant sprayed before, happens."""
        happens: NDArray[np.bool_]
        held = _held(store, phases, spans, size)
        if event.kind in (SPRAYING_NEAR_PERSON.kind, SPRAYING_IN_WIND.kind):
            happens = held[event.call] > 0.0
            return happens
        if event.kind != PRE_HARVEST_INTERVAL.kind:
            return None
        plant = self.world.plants[event.entity]
        *_, given, share = _getting(spans[: event.call], held, deposit_on(event.entity))
        happens = (share * size * given).max(axis=0, initial=0.0) > plant.residue_ml
        return happens if plant.sprayed_s_ago is None else None


NOTHING = Span(0.0, 0.0, {})


def _held(store: Store, phases: Sequence[Phase], spans: Sequence[Span], size: Floats) -> Floats:
    """Return the share that the tank holds of what each span takes, spans by points."""
    held, since = np.ones((len(spans), len(size))), 0.0
    for place, span in enumerate(spans):
        if taken := span.got.get(store.entity, 0.0):
            held[place] = np.minimum(1.0, store.level(phases, since) / (size * taken))
        since = span.end
    return held


def _getting(spans: Sequence[Span], held: Floats, name: str) -> tuple[Floats, Floats, Floats, Floats]:
    """Return end, length and amount of the spans in which there is any, in columns, and the shares held."""
    which = [place for place, span in enumerate(spans) if span.got.get(name, 0.0) > 0.0]
    parts = [(spans[k].end, spans[k].end - spans[k].begin, spans[k].got[name]) for k in which]
    ends, lasts, given = np.array(parts).reshape(-1, 3).T[:, :, None]
    return ends, lasts, given, held[which]


def _when(on: NDArray[np.bool_], ends: Floats, seconds: Floats) -> tuple[Floats, Floats]:
    """Return begin and end of what is on for the last seconds of some spans, spans by points."""
    begin: Floats = np.where(on, ends - seconds, np.inf).min(axis=0, initial=np.inf)
    end: Floats = np.where(on, ends, -np.inf).max(axis=0, initial=-np.inf)
    return begin, end


def _tells_changes(spec: SensorSpec) -> bool:
    """Return whether a sensor reports its changes at once, and exactly."""
    return spec.period is None and not (spec.noise or spec.delay or spec.bias or spec.drift)
