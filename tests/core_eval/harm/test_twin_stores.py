"""Battery and hopper weighed apart: as the simulator weighs them, point by point, and as all points do."""

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from farm_rig import WORLD, Script, at
from twin_rig import logged, priors

from configs.variation import Variation
from core_eval.harm.twin.likelihood import channels, robust, weighted
from core_eval.harm.twin.logged_episode import LoggedEpisode
from core_eval.harm.twin.member import Driver
from core_eval.harm.twin.stores import DRAWN, TAKEN, StorePoints, StoreRecord, channels_of, weighed_points
from devices.harm import limit_of
from sims.farm_rover.farm_stores import farm_stores
from sims.farm_rover.simulator import FarmSimulator
from sims.overrides import merge_world
from sims.stores import Store

DISCREPANCY = 0.02
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
CASES = [
    ("battery", FAR, {"battery": 0.17}, {"draw": 1.1, "slip": 0.02}),
    ("battery", CHARGED, {"battery": 0.12}, {"draw": 0.9, "slip": 0.02}),
    ("hopper", ROUND, {"hopper": {"fruit": 0}}, {"fruit_size": 1.12}),
    ("hopper", ROUND, {"hopper": {"fruit": 1}}, {"fruit_size": 0.85}),
]


def of(entity: str, told: dict) -> Store:
    return next(one for one in farm_stores(merge_world(WORLD, told)) if one.entity == entity)


def points_of(store: Store, told: dict, count: int) -> StorePoints:
    off = OFF if store.start else None
    return StorePoints.drawn(store, PRIORS, told.get("battery", 0.0), off, count, np.random.default_rng(3))


def record_of(store: Store, episode: LoggedEpisode) -> StoreRecord:
    record = StoreRecord(discrepancy=DISCREPANCY)
    record.take(store, episode.calls, episode.samples, episode.end)
    return record


def rig(script: Script, told: dict, hidden: dict, seed: int) -> LoggedEpisode:
    """A rig whose charge is not as it was told."""
    off = {
        name: value * Random(seed).uniform(0.85, 1.15) for name, value in told.items() if name == "battery"
    }
    return logged(script, {**told, **off}, hidden, seed)[0]


def simulated(told: dict, store: Store, points: StorePoints, episode: LoggedEpisode) -> Sequence:
    """What the simulator makes of each point: the likelihood of its channels, and whether there is harm."""
    driver = Driver(lambda: FarmSimulator(merge_world(WORLD, told)))
    world, own = driver.simulator.world.model_dump(), channels_of(store)
    terms, harmed = [], []
    for index, level in enumerate(points.start):
        start = {"battery": float(level)} if store.start else {}
        hidden = {name: float(values[index]) for name, values in points.hidden.items()}
        track = driver.drive(episode, {"slip": 0.02, **hidden}, 1, start=start)
        terms.append(robust((one for one in channels(episode, track) if one.name in own), DISCREPANCY))
        limit = limit_of(store.rule, store.entity, track.end_state, world)
        events = (one for one in track.events if one.kind == store.rule.kind)
        harmed.append(any(not store.rule.is_trifle(one, limit) for one in events))
    return np.array(terms), np.array(harmed)


@pytest.mark.parametrize(("entity", "script", "told", "hidden"), CASES)
def test_each_point_is_as_likely_and_as_harmful_as_in_the_simulator(entity, script, told, hidden):
    store, episode = of(entity, told), rig(script, told, hidden, 5)
    points = points_of(store, told, 14)
    terms, harmed = simulated(told, store, points, episode)
    member = Driver(lambda: FarmSimulator(merge_world(WORLD, told)))
    track = member.drive(episode, {"slip": 0.02}, 1, apart=True)
    found, phases = record_of(store, episode).terms(store, points, track)
    happens = store.events(phases, episode.end).happens
    assert found == pytest.approx(terms, abs=0.02)
    assert happens.tolist() == harmed.tolist() and 0 < harmed.sum() < len(harmed)
    told_by_simulator, told_apart = weighted(terms[None])[1] @ harmed, weighted(found[None])[1] @ happens
    assert told_apart == pytest.approx(told_by_simulator, abs=0.01)


@pytest.mark.parametrize(
    ("entity", "told"), [("hopper", {"hopper": {"fruit": 2}}), ("battery", {"battery": 0.05})]
)
def test_what_is_beyond_its_limit_before_any_call_is_no_harm(entity, told):
    store, episode = of(entity, told), rig(ROUND[:3], told, {}, 5)
    points = points_of(store, told, 8)
    track = Driver(lambda: FarmSimulator(merge_world(WORLD, told))).drive(episode, {}, 1, apart=True)
    phases = record_of(store, episode).terms(store, points, track)[1]
    assert not store.events(phases, episode.end).happens.any()


@pytest.mark.parametrize("seed", [1, 4])
def test_the_points_taken_tell_what_all_of_them_do(seed):
    _, script, told, hidden = CASES[0]
    store, episode = of("battery", told), rig(script, told, hidden, seed)
    member = Driver(lambda: FarmSimulator(merge_world(WORLD, told)))
    track = member.drive(episode, {"slip": 0.02}, 1, apart=True)
    drawn, record = points_of(store, told, 131072), record_of(store, episode)
    all_terms, all_phases = record.terms(store, drawn, track)
    expected = weighted(all_terms[None])[1] @ store.events(all_phases, episode.end).happens
    few = points_of(store, told, DRAWN)
    taken, terms, phases = weighed_points(store, few, record, [track], TAKEN, np.random.default_rng(seed))
    found = weighted(terms)[1] @ store.events(phases[0], episode.end).happens
    assert len(taken.start) == TAKEN and found[0] == pytest.approx(expected[0], abs=0.015)
