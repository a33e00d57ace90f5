"""The protective stop: a motion that meets something firm ends as a fault, and can be left again."""

import pytest
from arm_rig import WORLD, arm, do, events, executed, to

from core_eval.harm.assessment import assess
from devices.outcome import PROTECTIVE_STOP
from sims.robotic_arm.simulator import ArmSimulator

POST = {"obstacles": {"post": {"x": 0.65, "y": -0.1, "size": [0.05, 0.05, 0.3]}}}
BEFORE, BEHIND = to(0.45, -0.1, 0.1), to(0.85, -0.1, 0.1)


def at_the_post(init=None):
    simulator, samples = arm({**POST, **(init or {})})
    assert do(simulator, BEFORE[0], **BEFORE[1]).status == "ok"
    return simulator, samples, do(simulator, BEHIND[0], **BEHIND[1])


def test_a_motion_into_a_post_ends_as_a_fault_with_the_safety_locked():
    simulator, samples, outcome = at_the_post()
    assert (outcome.status, outcome.code) == ("fault", PROTECTIVE_STOP)
    assert "150 N" in outcome.message and "unlock_safety" in outcome.message
    state = simulator.state_dict()
    assert state["safety_locked"] and 0.5 < state["pose"]["x"] < 0.63
    assert outcome.duration < 1.0, "it does not push for the rest of the path"
    assert [s.value for s in samples if s.sensor == "pose_reached"][-1] is False
    # The blow is also a peak of torque at the wrist.
    (event,) = (one for one in simulator.events if one.kind != "peak_torque")
    assert (event.kind, event.entity) == ("collision", "post")


def test_after_it_the_arm_presses_no_more_and_moves_away_once_it_is_unlocked():
    simulator, _, _ = at_the_post()
    assert do(simulator, BEFORE[0], **BEFORE[1]).code == "safety_locked"
    assert sum(simulator.state_dict()["touch"].values()) < 1.0
    do(simulator, "unlock_safety")
    assert do(simulator, BEFORE[0], **BEFORE[1]).status == "ok"
    assert simulator.state_dict()["pose"]["x"] == pytest.approx(0.45, abs=1e-3)


def test_the_force_of_the_stop_is_the_worlds():
    def way(newtons):
        simulator, _, outcome = at_the_post({"arm": {"protective_stop": newtons, "speed": 0.1}})
        assert outcome.code == PROTECTIVE_STOP
        return simulator.events[0].severity

    assert way(20.0) < way(150.0)


def test_a_free_object_that_is_pushed_aside_stops_nothing():
    pushed = [to(0.5, 0.08, 0.03), to(0.5, 0.32, 0.03)]
    assert {kind for kind, _ in events(pushed)} == {"collision", "object_displaced"}


def test_the_harm_of_a_call_that_it_ended_is_assessed_and_a_detour_prevents_it():
    calls = executed([BEFORE, BEHIND, ("unlock_safety", {}), BEFORE], POST)
    assert [call.partly for call in calls] == [False, True, False, False]
    report = assess(lambda: ArmSimulator(WORLD), {"safety_locked": False, **POST}, 0, calls, None)
    assert report.replay_matches
    (verdict,) = (one for one in report.events if one.kind != "peak_torque")
    assert (verdict.kind, verdict.k, verdict.remedy) == ("collision", 1, "detour")
    assert verdict.observed, "the stop is the call's answer"


def test_no_joint_goes_beyond_its_stops():
    simulator, _ = arm()
    model, physics = simulator._physics.model, simulator._physics
    do(simulator, "move_to", x=0.2, y=0.0, z=0.7)
    do(simulator, "move_to", x=1.1, y=0.0, z=0.0)
    for joint in range(1, 5):
        low, high = model.jnt_range[joint]
        assert model.jnt_limited[joint] and low < physics.data.qpos[joint] < high
    physics.data.ctrl[2] = -1.0
    for _ in range(1500):
        physics.step()
    assert physics.data.qpos[2] == pytest.approx(0.0, abs=0.02)
