"""Battery, hopper and sprayer weighed apart: as the simulator weighs them, point by point, and as all do."""

from collections.abc import Sequence
from functools import reduce
from random import Random

import numpy as np
import pytest
from farm_rig import WORLD, Script, at
from twin_rig import logged, priors

from configs.variation import Variation, put
from core_eval.harm.twin.likelihood import channels, robust, weighted
from core_eval.harm.twin.logged_episode import LoggedEpisode
from core_eval.harm.twin.member import Driver
from core_eval.harm.twin.stores import (
    DRAWN,
    TAKEN,
    StorePoints,
    StoreRecord,
    channels_of,
    spans_of,
    weighed_points,
)
from devices.farm_rover.harm_rules import FARM_HARM_RULES
from devices.harm import limit_of
from sims.farm_rover.farm_stores import farm_stores
from sims.farm_rover.simulator import FarmSimulator
from sims.overrides import merge_world
from sims.stores import Store

DISCREPANCY = 0.02
RULES = {rule.kind: rule for rule in FARM_HARM_RULES}
PRIORS = priors(slip=(0.02, 0.01))
OFF = Variation(share=0.2, min=0.0, max=1.0)
ROUND = [
    ("unlock_safety_mode", {}),
    ("move_to", at("plant_A")),
    ("water_plant", {"plant_id": "plant_A", "liters": 2.0}),
    ("harvest_fruit", {"plant_id": "plant_A"}),
    ("move_to", at("plant_B")),
    ("harvest_fruit", {"plant_id": "plant_B"}),
    ("sense_battery", {}),
    ("move_to", at("collection_bin")),
    ("dump_hopper", {}),
]
FAR = [*ROUND, ("move_to", at("plant_D")), ("move_to", at("water_station")), ("move_to", at("plant_B"))]
CHARGED = [
    *ROUND[:2],
    ("move_to", at("charging_pad")),
    ("recharge", {}),
    ("move_to", at("plant_D")),
    ROUND[6],
]
SPRAYED = [
    ("unlock_safety_mode", {}),
    ("move_to", at("plant_A")),
    ("spray_pesticide", {"plant_id": "plant_A", "ml": 44.0}),
    ("move_to", at("plant_B")),
    ("spray_pesticide", {"plant_id": "plant_B", "ml": 50.0}),
]
REFILLED = [
    *SPRAYED,
    ("move_to", at("pesticide_refill")),
    ("refill_pesticide", {}),
    ("move_to", at("plant_A")),
    ("spray_pesticide", {"plant_id": "plant_A", "ml": 4.0}),
]
LABEL = {"plants": {"plant_A": {"pesticide_limit_ml": 42.0}, "plant_B": {"pesticide_limit_ml": 42.0}}}
TANK = {**LABEL, "pesticide_tank": {"ml": 100.0, "capacity_ml": 120.0}}
CLOGGED = {"faults": {"schedule": [{"kind": "clogged_nozzle", "at": 20.0, "strength": 0.15}]}}
STUCK = {"faults": {"schedule": [{"kind": "stuck_valve", "at": 0.0, "strength": 0.2}]}}
CASES = [
    ("battery", FAR, {"battery": 0.17}, {"draw": 1.1, "slip": 0.02}),
    ("battery", CHARGED, {"battery": 0.12}, {"draw": 0.9, "slip": 0.02}),
    ("hopper", ROUND, {"hopper": {"fruit": 0}}, {"fruit_size": 1.12}),
    ("hopper", ROUND, {"hopper": {"fruit": 1}}, {"fruit_size": 0.85}),
    ("pesticide", SPRAYED, TANK, {"pesticide_flow": 1.1, "slip": 0.02}),
    ("pesticide", REFILLED, TANK, {"pesticide_flow": 0.95, "slip": 0.02}),
    ("pesticide", SPRAYED, TANK | CLOGGED, {"pesticide_flow": 1.1, "slip": 0.02}),
    ("pesticide", REFILLED, TANK | STUCK, {"pesticide_flow": 1.1, "slip": 0.02}),
]


def of(entity: str, told: dict) -> Store:
    return next(one for one in farm_stores(merge_world(WORLD, told)) if one.entity == entity)


def points_of(store: Store, told: dict, count: int) -> StorePoints:
    off = OFF.model_copy(update={"max": store.full}) if store.start else None
    level = reduce(lambda inner, name: inner[name], store.start, told) if store.start else 0.0
    return StorePoints.drawn(store, PRIORS, level, off, count, np.random.default_rng(3))


def record_of(store: Store, episode: LoggedEpisode) -> StoreRecord:
    record = StoreRecord(discrepancy=DISCREPANCY)
    record.take(store, episode.calls, episode.samples, episode.end)
    return record


def rig(script: Script, told: dict, hidden: dict, seed: int) -> LoggedEpisode:
    """A rig whose charge is not as it was told."""
    share = Random(seed).uniform(0.85, 1.15)
    off = {"battery": told["battery"] * share} if "battery" in told else {}
    return logged(script, {**told, **off}, hidden, seed)[0]


def simulated(told: dict, store: Store, points: StorePoints, episode: LoggedEpisode) -> Sequence:
    """What the simulator makes of each point: the likelihood of its channels, and the harm that there is."""
    driver = Driver(lambda: FarmSimulator(merge_world(WORLD, told)))
    world, own = driver.simulator.world.model_dump(), channels_of(store)
    terms, harmed = [], []
    for index, level in enumerate(points.start):
        start: dict = {}
        if store.start:
            put(start, store.start, float(level))
        hidden = {name: float(values[index]) for name, values in points.hidden.items()}
        track = driver.drive(episode, {"slip": 0.02, **hidden}, 1, start=start)
        terms.append(robust((one for one in channels(episode, track) if one.name in own), DISCREPANCY))
        harmed.append(
            {
                (one.kind, one.entity)
                for one in track.events
                if not RULES[one.kind].is_trifle(
                    one, limit_of(RULES[one.kind], one.entity, track.end_state, world)
                )
            }
        )
    return np.array(terms), harmed


def events_of(store: Store, points: StorePoints, phases, track, episode: LoggedEpisode) -> dict:
    """Where there is harm, by rule and entity."""
    spans = spans_of(store, episode.calls, track, episode.end)
    found = store.harm.events(store, phases, spans, points.hidden[store.hidden[0]], episode.end)
    return {key: one.happens for key, one in found.items()}


@pytest.mark.parametrize(("entity", "script", "told", "hidden"), CASES)
def test_each_point_is_as_likely_and_as_harmful_as_in_the_simulator(entity, script, told, hidden):
    store, episode = of(entity, told), rig(script, told, hidden, 5)
    points = points_of(store, told, 14)
    terms, harmed = simulated(told, store, points, episode)
    member = Driver(lambda: FarmSimulator(merge_world(WORLD, told)))
    track = member.drive(episode, {"slip": 0.02}, 1, apart=True)
    found, phases = record_of(store, episode).terms(store, points, track)
    assert found == pytest.approx(terms, abs=0.02)
    apart, borderline = events_of(store, points, phases, track, episode), 0
    for key, happens in apart.items():
        expected = np.array([key in one for one in harmed])
        assert happens.tolist() == expected.tolist(), key
        borderline += 0 < expected.sum() < len(expected)
        told_by_simulator, told_apart = (
            weighted(terms[None])[1] @ expected,
            weighted(found[None])[1] @ happens,
        )
        assert told_apart == pytest.approx(told_by_simulator, abs=0.01)
    assert borderline


@pytest.mark.parametrize(
    ("entity", "told"), [("hopper", {"hopper": {"fruit": 2}}), ("battery", {"battery": 0.05})]
)
def test_what_is_beyond_its_limit_before_any_call_is_no_harm(entity, told):
    store, episode = of(entity, told), rig(ROUND[:3], told, {}, 5)
    points = points_of(store, told, 8)
    track = Driver(lambda: FarmSimulator(merge_world(WORLD, told))).drive(episode, {}, 1, apart=True)
    phases = record_of(store, episode).terms(store, points, track)[1]
    assert not any(one.any() for one in events_of(store, points, phases, track, episode).values())


@pytest.mark.parametrize(("case", "seed"), [(0, 1), (0, 4), (5, 1)])
def test_the_points_taken_tell_what_all_of_them_do(case, seed):
    entity, script, told, hidden = CASES[case]
    store, episode = of(entity, told), rig(script, told, hidden, seed)
    member = Driver(lambda: FarmSimulator(merge_world(WORLD, told)))
    track = member.drive(episode, {"slip": 0.02}, 1, apart=True)
    drawn, record = points_of(store, told, 131072), record_of(store, episode)
    all_terms, all_phases = record.terms(store, drawn, track)
    weights, harm = weighted(all_terms[None])[1], events_of(store, drawn, all_phases, track, episode)
    few = points_of(store, told, DRAWN)
    taken, terms, phases = weighed_points(store, few, record, [track], TAKEN, np.random.default_rng(seed))
    for key, happens in events_of(store, taken, phases[0], track, episode).items():
        assert weighted(terms)[1] @ happens == pytest.approx(weights @ harm[key], abs=0.01)
    assert len(taken.start) == TAKEN


@pytest.mark.parametrize("tool", ["refill_pesticide", "recharge", "refill_water_tank"])
def test_a_store_whose_content_is_not_known_is_filled_for_as_long_as_the_log_says(tool: str):
    """A person who comes meanwhile stands near a rover at work, however full it was told to be."""
    place = {"refill_pesticide": "pesticide_refill", "recharge": "charging_pad"}.get(tool, "water_station")
    x, y = at(place)["x"], at(place)["y"]
    path = [
        {"t": 0.0, "x": x + 3.0, "y": y},
        {"t": 2.0, "x": x + 1.0, "y": y},
        {"t": 60.0, "x": x, "y": y + 1.0},
    ]
    told = {"pose": {"x": x, "y": y}, "safety_locked": False, "person": {"path": path}}
    low = {"battery": 0.5, "pesticide_tank": {"ml": 50.0}, "water_tank": {"liters": 1.0}}
    episode, events = logged([(tool, {})], {**told, **low})
    full = FarmSimulator(merge_world(WORLD, told))
    track = Driver(lambda: full).drive(episode, {}, 0, apart=True)
    assert [(one.kind, one.t_start, one.t_end) for one in track.events] == [
        (one.kind, one.t_start, pytest.approx(one.t_end)) for one in events
    ]
    assert [one.kind for one in events] == ["unlocked_near_person"]


def test_what_is_sprayed_from_an_empty_tank_is_no_harm_to_a_person_or_a_picker():
    path = [{"t": 0.0, "x": 7.5, "y": 10.5}, {"t": 3600.0, "x": 7.5, "y": 10.4}]
    told = {"pesticide_tank": {"ml": 100.0}, "person": {"path": path}}
    last = ("spray_pesticide", {"plant_id": "plant_B", "ml": 10.0})
    script = [*SPRAYED[:3], *SPRAYED[2:4], last, ("harvest_fruit", {"plant_id": "plant_B"})]
    store, episode = of("pesticide", told), rig(script, told, {}, 5)
    points = points_of(store, told, 14)
    _, harmed = simulated(told, store, points, episode)
    track = Driver(lambda: FarmSimulator(merge_world(WORLD, told))).drive(episode, {}, 1, apart=True)
    phases = record_of(store, episode).terms(store, points, track)[1]
    spans, size = spans_of(store, episode.calls, track, episode.end), points.hidden["pesticide_flow"]
    events = {(one.kind, one.entity): one for one in track.events}
    for key in (("spraying_near_person", "person"), ("pre_harvest_interval", "plant_B")):
        happens = store.harm.bears_out(store, phases, spans, size, events[key])
        assert happens.tolist() == [key in one for one in harmed], key
        assert 0 < happens.sum() < len(happens)
