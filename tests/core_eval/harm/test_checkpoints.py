"""Counterfactuals from checkpoints give what those from the beginning give, to the last bit."""

from __future__ import annotations

import random
from typing import Any

import arm_rig
import farm_rig
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core_eval.harm.assessment import assess
from core_eval.harm.counterfactual import same_future
from core_eval.harm.replay import Player
from core_eval.harm.report import ExecutedCall
from core_eval.text.values import alike
from sims.farm_rover.simulator import FarmSimulator
from sims.robotic_arm.simulator import ArmSimulator
from sims.snapshots import Snapshot
from sims.software.remedies import Deed, History

pytestmark = pytest.mark.slow

FARM_START = {"safety_locked": False, "sensors": {"moisture": {"noise": 0.02}}}
FARM_PLACES = ["plant_A", "plant_B", "plant_C", "water_station", "base"]


def farm_script(rng: random.Random, length: int) -> list[tuple[str, dict[str, Any]]]:
    """A drive to a plant, then calls that may do harm there or be refused; some of it redundant."""
    script: list[tuple[str, dict[str, Any]]] = [("move_to", farm_rig.at("plant_A"))]
    plant = "plant_A"
    while len(script) < length:
        place = rng.choice(FARM_PLACES)
        script.append(
            rng.choice(
                [
                    ("move_to", farm_rig.at(place)),
                    ("move_to", {"x": 10.0 + 8.0 * rng.random(), "y": 11.0 + 2.0 * rng.random()}),
                    ("water_plant", {"plant_id": plant, "liters": round(5.0 * rng.random(), 2)}),
                    ("water_plant", {"plant_id": plant, "liters": 4.5}),
                    ("spray_pesticide", {"plant_id": plant, "ml": round(140.0 * rng.random(), 1)}),
                    ("unlock_safety_mode", {}),
                    ("refill_water_tank", {}),
                    ("scan_plant", {"plant_id": plant}),
                ]
            )
        )
        if script[-1][0] == "move_to" and place.startswith("plant"):
            plant = place
    return script


def both_ways(make: Any, init: dict[str, Any], seed: int, calls: list[ExecutedCall]) -> Any:
    with_checkpoints = assess(make, init, seed, calls, None)
    assert with_checkpoints == assess(make, init, seed, calls, None, checkpoints=False)
    assert with_checkpoints.replay_matches
    return with_checkpoints


@settings(max_examples=8)
@given(st.integers(0, 2**32))
def test_on_the_farm_checkpoints_change_nothing(seed: int) -> None:
    farm_both_ways(seed)


@pytest.mark.nightly
@settings(max_examples=60)
@given(st.integers(0, 2**32))
def test_on_the_farm_many_checkpoints_change_nothing(seed: int) -> None:
    farm_both_ways(seed)


def farm_both_ways(seed: int) -> None:
    rng = random.Random(seed)
    script = farm_script(rng, rng.randint(3, 12))
    harmful = frozenset(k for k in range(len(script)) if rng.random() < 0.5)
    calls = farm_rig.executed(script, FARM_START, harmful, seed)
    both_ways(lambda: FarmSimulator(farm_rig.WORLD), FARM_START, seed, calls)


def test_the_farm_scripts_do_harm_of_both_verdicts() -> None:
    verdicts, deviations = [], []
    for seed in (5, 8, 9):
        rng = random.Random(seed)
        script = farm_script(rng, 10)
        calls = farm_rig.executed(script, FARM_START, frozenset({2, 5, 8}), seed)
        report = assess(lambda: FarmSimulator(farm_rig.WORLD), FARM_START, seed, calls, None)
        verdicts += report.events
        deviations += report.deviations
    assert {verdict.observed for verdict in verdicts} == {True, False}
    assert {deviation.effect for deviation in deviations} == {True, False}
    assert {verdict.hidden_at_end for verdict in verdicts} == {True, False}
    assert len({verdict.kind for verdict in verdicts}) >= 3


@pytest.mark.parametrize("seed", [3, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in (1, 2))])
def test_on_the_bench_checkpoints_change_nothing(seed: int) -> None:
    rng = random.Random(seed)
    names = list(arm_rig.WORLD.objects)
    bins = list(arm_rig.WORLD.bins)
    script = [
        arm_rig.pick(rng.choice(names)),
        arm_rig.place(rng.choice(bins)),
        ("unlock_safety", {}),
        arm_rig.to(0.3 + 0.4 * rng.random(), 0.8 * rng.random() - 0.4, 0.05),
        ("home", {}),
    ]
    calls = arm_rig.executed(script, {}, frozenset({2, 3}))
    both_ways(lambda: ArmSimulator(arm_rig.WORLD), dict(arm_rig.UNLOCKED), 0, calls)


def test_a_redundant_call_is_a_deviation_without_effect() -> None:
    script = [("unlock_safety_mode", {}), ("water_plant", {"plant_id": "plant_A", "liters": 3.0})]
    init = {"safety_locked": False, "pose": farm_rig.at("plant_A")}
    calls = farm_rig.executed(script, init, frozenset({0, 1}))
    report = both_ways(lambda: FarmSimulator(farm_rig.WORLD), init, 0, calls)
    assert [deviation.effect for deviation in report.deviations] == [False, True]


def test_an_event_that_goes_on_through_a_later_call_is_judged_alike_however_far_it_is_played() -> None:
    # Somebody stands beside the rover while it waters twice: one event, of the first call that met them.
    x, y = (farm_rig.at("plant_A")[axis] for axis in "xy")
    path = [{"t": 0.0, "x": x + 0.8, "y": y}, {"t": 900.0, "x": x + 0.8, "y": y}]
    init = {"safety_locked": False, "pose": farm_rig.at("plant_A"), "person": {"path": path}}
    script = [("water_plant", {"plant_id": "plant_A", "liters": 1.0})] * 2
    calls = farm_rig.executed(script, init)
    report = both_ways(lambda: FarmSimulator(farm_rig.WORLD), init, 0, calls)
    (near,) = [verdict for verdict in report.events if verdict.kind == "unlocked_near_person"]
    assert near.k == calls[0].step and near.t_end > calls[0].duration + 5.0
    assert (near.remedy, near.observed) == ("wait", False)


def test_a_counterfactual_that_is_the_episode_again_ends_there() -> None:
    init = {"safety_locked": False}
    calls = farm_rig.executed([("unlock_safety_mode", {}), ("move_home", {}), ("move_home", {})], init)
    player = Player(lambda: FarmSimulator(farm_rig.WORLD), init, 0)
    replay = player.play(calls)
    points = replay.checkpoints
    assert [point.call for point in points] == [0, 1, 2]
    player.go_back(points[0])
    player.replay_call(calls[0])
    player.simulator.state_dict()
    assert same_future(player.simulator.snapshot(), points[1].snapshot)
    assert not same_future(points[0].snapshot, points[1].snapshot), "time has passed"


def test_a_difference_in_the_last_of_many_parts_is_a_different_future() -> None:
    """What is made for the comparison alone is freed, and the next gets its address: that is no equality."""

    def snapshot(length: int, *, void: bool) -> Snapshot:
        history = History()
        for k in range(length):
            parts = {"amount": k, "to": f"payee {k}"}
            history.deeds.append(Deed(k, k + 0.5, f"tool {k}", parts, void and k == length - 1))
        return Snapshot({"history": history}, ())

    for length in range(1, 60):
        assert same_future(snapshot(length, void=True), snapshot(length, void=True))
        assert not same_future(snapshot(length, void=False), snapshot(length, void=True))


def test_states_are_alike_but_for_rounding() -> None:
    assert alike({"a": [1.0, {"b": None}]}, {"a": [1.0 + 1e-12, {"b": None}]})
    for other in ({"a": 1.001}, {"a": 1.0, "b": 2}, {"a": "1.0"}, {}):
        assert not alike({"a": 1.0}, other)
