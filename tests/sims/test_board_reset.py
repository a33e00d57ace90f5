"""A board that starts anew in the middle of things: what it was doing ends, and it is safe."""

import math
from threading import Event

import pytest
from arm_rig import arm
from arm_rig import do as do_arm
from farm_rig import at, do, rover
from tank_rig import tank, wait

from core_eval.harm.assessment import assess
from core_eval.harm.report import ExecutedCall
from devices.harm import LEAVE_OUT


def reset_at(*moments: float):
    return {"schedule": [{"kind": "reset", "at": moment} for moment in moments]}


def test_a_reset_ends_the_running_call_and_leaves_the_device_safe():
    simulator, _ = tank(faults=reset_at(2.5))
    assert wait(simulator, 2.0).status == "ok"
    outcome = wait(simulator, 3.0)
    assert (outcome.status, outcome.code, outcome.value) == ("fault", "reset", None)
    assert (outcome.duration, outcome.t) == (0.5, 2.5)
    assert simulator.locked is True
    assert simulator.ended == 1
    # The board took a moment; the next call is taken as any other.
    assert wait(simulator, 3.0).status == "ok"
    assert simulator.clock.now == 5.5


@pytest.mark.parametrize(
    ("moment", "statuses"), [(1.999, "fault ok"), (2.0, "fault ok"), (2.001, "ok fault")]
)
def test_a_reset_on_the_last_moment_of_a_call_strikes_that_call(moment, statuses):
    simulator, _ = tank(faults=reset_at(moment))
    assert [wait(simulator, 2.0).status for _ in range(2)] == statuses.split()


def test_resets_strike_once_each_and_between_episodes_none():
    simulator, _ = tank(faults=reset_at(0.0, 1.0, 1.0, 4.0))
    assert simulator.locked is True, "the one at 0"
    assert [wait(simulator, 2.0).status for _ in range(4)] == ["fault", "ok", "fault", "ok"]
    assert simulator.init({}, 0).status == "ok"
    assert simulator.locked is False
    assert wait(simulator, 9.0).status == "ok"


def test_a_reset_while_effects_settle_does_not_end_the_episode_early():
    simulator, heard = tank({"s": {"kind": "continuous", "period": 4.0}}, reset_at(3.0))
    simulator.settling = 10.0
    simulator.finish()
    assert (simulator.clock.now, simulator.locked) == (10.0, True)
    assert [sample.t for sample in heard] == [0.0, 4.0, 8.0, 10.0]


def test_a_counterfactual_of_a_call_that_a_reset_ended_takes_the_same_time():
    for options in ({"forced": True}, {"remedy": LEAVE_OUT}):
        simulator, _ = tank(faults=reset_at(2.5))
        assert simulator.resets_within(2.5) and not simulator.resets_within(2.499)
        outcome = wait(simulator, 9.0, duration=2.5, **options)
        assert (outcome.status, outcome.code, outcome.duration) == ("fault", "reset", 2.5)
        assert simulator.locked is True


def test_a_rover_that_is_reset_on_its_way_stands_where_it_was_with_its_safety_locked():
    simulator, _ = rover({"safety_locked": False, "faults": reset_at(4.0)})
    outcome = do(simulator, "move_to", **at("plant_D"))
    assert (outcome.status, outcome.code, outcome.duration) == ("fault", "reset", 4.0)
    there = simulator.state_dict()["pose"]
    assert 0.5 < math.hypot(there["x"] - 5.0, there["y"] - 5.0) < 6.0
    refused = do(simulator, "move_home")
    assert (refused.status, refused.code) == ("rejected", "safety_locked")
    assert simulator.state_dict()["pose"] == there
    assert do(simulator, "unlock_safety_mode").status == "ok"
    assert do(simulator, "move_to", **at("plant_D")).status == "ok"


def test_a_rover_that_is_reset_while_it_waters_closes_the_valve():
    simulator, _ = rover(
        {"safety_locked": False, "pose": {**at("plant_A"), "yaw": 0.0}, "faults": reset_at(10.0)}
    )
    before = simulator.state_dict()["water_tank"]
    outcome = do(simulator, "water_plant", plant_id="plant_A", liters=3.0)
    assert outcome.code == "reset"
    after = simulator.state_dict()["water_tank"]
    assert 0.5 < before["liters"] - after["liters"] < 1.5, "a third of the dose and no more"
    simulator.execute("lock_safety_mode", {}, Event(), duration=60.0)
    assert simulator.state_dict()["water_tank"]["liters"] == after["liters"]


def test_an_arm_that_is_reset_in_mid_motion_stops_there():
    simulator, _ = arm({"faults": reset_at(0.3)})
    start = simulator.state_dict()["pose"]
    outcome = do_arm(simulator, "move_to", x=0.6, y=-0.2, z=0.3, yaw=0.0)
    assert (outcome.status, outcome.code, outcome.duration) == ("fault", "reset", 0.3)
    there = simulator.state_dict()["pose"]
    assert there != start
    assert math.dist([there["x"], there["y"]], [0.6, -0.2]) > 0.05
    refused = do_arm(simulator, "home")
    assert (refused.status, refused.code) == ("rejected", "safety_locked")
    simulator.execute("lock_safety", {}, Event(), duration=2.0)
    rest = simulator.state_dict()["pose"]
    assert math.dist([there["x"], there["y"], there["z"]], [rest["x"], rest["y"], rest["z"]]) < 0.05


def test_a_replay_is_struck_by_the_same_resets_and_tells_the_same_harm():
    init = {"safety_locked": False, "pose": {**at("plant_A"), "yaw": 0.0}, "faults": reset_at(30.0, 60.0)}
    script = [
        ("water_plant", {"plant_id": "plant_A", "liters": 4.9}),
        ("unlock_safety_mode", {}),
        ("spray_pesticide", {"plant_id": "plant_A", "ml": 120.0}),
        ("move_to", {"x": 10.5, "y": 12.4}),
    ]
    live, _ = rover(init, seed=2)
    outcomes = [live.execute(tool, arguments, Event()) for tool, arguments in script]
    assert [outcome.code for outcome in outcomes] == ["reset", None, None, "reset"]
    live.finish()
    assert live.events, "there is harm to tell"
    calls = [
        ExecutedCall(k, tool, arguments, outcome.status, outcome.duration, False)
        for k, ((tool, arguments), outcome) in enumerate(zip(script, outcomes, strict=True))
    ]
    report = assess(lambda: rover()[0], init, 2, calls, None)
    assert report.replay_matches, report.mismatch
    names = ("kind", "entity", "t_start", "t_end", "severity", "exposure", "t_record", "trend")
    assert [[getattr(row, name) for name in names] for row in report.events] == [
        [getattr(event, name) for name in names] for event in live.events
    ]
    assert [row.k for row in report.events] == [event.call for event in live.events]
    assert report.end_state == live.state_dict()
