"""What a rig answers, as telemetry: what counts as a reading, and where two answers first differ."""

from __future__ import annotations

from typing import Any

import pytest
from farm_rig import WORLD, at, do

from core_eval.harm.answers import Answer, answer_difference, answer_of, same
from devices.outcome import Outcome
from sims.farm_rover.simulator import FarmSimulator

AT_THE_TANK = {"safety_locked": False, "pose": at("water_station"), "water_tank": {"liters": 1.0}}


@pytest.fixture
def farm() -> FarmSimulator:
    simulator = FarmSimulator(WORLD)
    assert simulator.init(AT_THE_TANK, 0).status == "ok"
    return simulator


def test_an_answer_that_is_heard_tells_its_result_and_how_long_a_sensor_let_it_run(
    farm: FarmSimulator,
) -> None:
    outcome = do(farm, "refill_water_tank")
    answer = answer_of(farm, "refill_water_tank", outcome)
    assert (answer.t, answer.status) == (outcome.t, "ok")
    assert answer.result, "the level is a reading"
    assert answer.seconds == pytest.approx(outcome.duration) and outcome.duration > 0.0
    assert answer.registers["lock_safety_mode.safety"] == ("unlocked", 0.0)


def test_an_answer_that_nobody_hears_tells_nothing_but_the_registers(farm: FarmSimulator) -> None:
    outcome = do(farm, "refill_water_tank")
    answer = answer_of(farm, "refill_water_tank", outcome, received=False)
    assert (answer.status, answer.result, answer.seconds) == (None, {}, None)
    assert answer.registers


def test_what_a_call_that_failed_gives_is_no_reading(farm: FarmSimulator) -> None:
    outcome = do(farm, "refill_water_tank")
    failed = Outcome("fault", outcome.value, "jammed", "the valve is stuck", outcome.t, outcome.duration)
    answer = answer_of(farm, "refill_water_tank", failed)
    assert (answer.status, answer.result, answer.seconds) == ("fault (jammed)", {}, None)


def test_the_time_of_a_call_that_no_sensor_ends_is_no_reading(farm: FarmSimulator) -> None:
    answer = answer_of(farm, "sense_pose", do(farm, "sense_pose"))
    assert answer.result and answer.seconds is None


def test_a_tool_that_the_device_does_not_have_gives_no_reading(farm: FarmSimulator) -> None:
    answer = answer_of(farm, "dance", Outcome("ok", {"steps": 3}, t=1.0))
    assert (answer.status, answer.result, answer.seconds) == ("ok", {}, None)


def said(**changed: Any) -> Answer:
    usual: dict[str, Any] = {
        "t": 30.0,
        "status": "ok",
        "result": {"liters": (5.0, 0.5), "level": ("low", 0.0)},
        "registers": {"sense_pose.x": (1.0, 0.0), "sense_pose.y": (2.0, 0.0)},
        "seconds": 4.0,
    }
    return Answer(**{**usual, **changed})


@pytest.mark.parametrize(
    ("ours", "theirs", "sensor", "value", "other"),
    [
        ({}, {"status": "rejected (locked)"}, "refill.status", "ok", "rejected (locked)"),
        ({}, {"result": {"liters": (5.6, 0.5)}}, "refill.liters", 5.0, 5.6),
        ({}, {"result": {"liters": (5.1, 0.5), "level": ("high", 0.0)}}, "refill.level", "low", "high"),
        ({"seconds": 4.00049}, {"seconds": 5.00061}, "refill.seconds", 4.0, 5.001),
        ({}, {"registers": {"sense_pose.x": (1.0, 0.0), "sense_pose.y": (3.0, 0.0)}},
         "sense_pose.y", 2.0, 3.0),
    ],
)  # fmt: skip
def test_the_first_part_that_differs_is_the_evidence(
    ours: dict[str, Any], theirs: dict[str, Any], sensor: str, value: Any, other: Any
) -> None:
    assert answer_difference("refill", 7, said(**ours), said(**theirs)) == {
        "sensor": sensor, "index": 7, "t": 30.0, "value": value,
        "counterfactual": other, "counterfactual_t": 30.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({}, {}),
        ({}, {"status": None}),
        ({"status": None}, {"status": "rejected"}),
        ({}, {"result": {}}),
        ({"result": {}}, {"result": {"liters": (9.0, 0.5)}}),
        ({}, {"seconds": None}),
        ({"seconds": None}, {}),
        ({}, {"seconds": 5.0}),
        ({}, {"registers": {}}),
        ({"registers": {}}, {}),
    ],
)
def test_what_one_side_does_not_tell_is_not_compared(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    assert answer_difference("refill", 0, said(**ours), said(**theirs)) is None


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ((1.0, 0.5), (1.5, 0.5), True),
        ((1.0, 0.5), (1.5 + 2e-9, 0.5), False),
        ((2, 0.0), (2.0, 0.0), True),
        ((True, 5.0), (False, 5.0), False),
        ((True, 5.0), (3, 5.0), False),
        (("low", 5.0), ("high", 5.0), False),
        ((None, 0.0), (0.0, 0.0), False),
    ],
)
def test_only_numbers_are_the_same_within_their_resolution(one: Any, other: Any, alike: bool) -> None:
    assert same(one, other) is alike and same(other, one) is alike
