import math
from threading import Event

import pytest
from arm_rig import UNLOCKED, WORLD, arm, do, events, executed, pick, place, run, to

from core_eval.harm.assessment import assess
from core_eval.path.calls import Call
from devices.robotic_arm.harm_rules import HARM_RULES
from sims.robotic_arm.scene import FINGER_THICKNESS, FINGER_WIDTH
from sims.robotic_arm.simulator import ArmSimulator

BOX = WORLD.objects["box_small"]
CUP = WORLD.objects["cup"]
BESIDE_BOX, BEYOND_BOX = to(0.5, 0.08, 0.03), to(0.5, 0.32, 0.03)
ROUND_THE_CUP = [to(CUP.x, CUP.y, 0.2), to(CUP.x, CUP.y, CUP.z)]


def judge(script, init=None, harmful=frozenset(), golden=None):
    init = {**UNLOCKED, **(init or {})}
    return assess(lambda: ArmSimulator(WORLD), init, 0, executed(script, init, harmful), golden)


def test_each_rule_has_its_remedy():
    assert {rule.kind: rule.remedy for rule in HARM_RULES} == {
        "collision": "detour",
        "object_displaced": "detour",
        "drop": "gentle_release",
        "grip_force": "soft_grip",
        "keep_out": "detour",
        "light_curtain": "wait",
        "joint_torque": "limit_torque",
        "peak_torque": "limit_torque",
        "stacking": "beside",
    }


def outermost(axis):
    """How far the gripper's fingertips reach from its middle, with the gripper open and at yaw 0."""
    return FINGER_WIDTH / 2 if axis == "x" else WORLD.arm.opening / 2 + FINGER_THICKNESS


@pytest.mark.parametrize(("gap", "hit"), [(-0.001, True), (0.001, False)])
@pytest.mark.parametrize("axis", ["x", "y"])
def test_a_box_one_millimetre_in_the_way_is_hit_and_one_beside_it_is_not(axis, gap, hit):
    off = outermost(axis) + BOX.size[0] / 2 + gap
    if axis == "x":
        init = {"objects": {"box_small": {"x": 0.5 + off, "y": 0.2}}}
        script = [to(0.5, 0.0, 0.03), to(0.5, 0.4, 0.03)]
    else:
        init = {"objects": {"box_small": {"x": 0.6, "y": off}}}
        script = [to(0.45, 0.0, 0.03), to(0.62, 0.0, 0.03)]
    found = events(script, init)
    assert (("collision", "box_small") in found) == hit
    if hit:
        assert found["collision", "box_small"].call == 1
        assert found["collision", "box_small"].severity > 1.0
    else:
        assert found == {}


def test_a_pushed_box_is_a_collision_and_a_displacement_of_the_call_that_pushed():
    found = events([BESIDE_BOX, BEYOND_BOX, ("home", {})])
    assert set(found) == {("collision", "box_small"), ("object_displaced", "box_small")}
    pushed = found["object_displaced", "box_small"]
    simulator, _ = run([BESIDE_BOX, BEYOND_BOX])
    place_now = simulator.state_dict()["objects"]["box_small"]
    moved = math.dist([place_now[axis] for axis in "xyz"], (BOX.x, BOX.y, BOX.z))
    assert pushed.call == 1
    assert pushed.severity == pytest.approx(moved - WORLD.limits.displacement, abs=1e-3)
    assert 0.0 < pushed.t_start < pushed.t_end < simulator.clock.now
    assert 0.0 < pushed.exposure < pushed.severity * (pushed.t_end - pushed.t_start) * 1.01


def test_pressing_the_fingers_on_the_bench_is_a_collision():
    found = events([to(0.5, 0.0, 0.1), to(0.5, 0.0, 0.0)], {"objects": {"panel_X": None}})
    assert set(found) <= {("collision", "bench")}


def test_pressing_a_held_object_on_the_bench_is_a_collision_above_the_limit():
    script = [pick("box_small"), to(0.5, 0.2, 0.2), to(0.5, 0.2, 0.01)]
    found = events(script)
    assert found["collision", "bench"].call == 2


def test_a_release_from_a_height_is_a_drop_and_a_low_one_is_not():
    found = events([pick("box_small"), ("open_gripper", {})])
    assert set(found) == {("drop", "box_small")}
    drop = found["drop", "box_small"]
    assert drop.call == 1
    assert drop.severity == pytest.approx(0.25 - BOX.z - WORLD.limits.drop_height, abs=5e-3)
    assert events([pick("box_small"), place("bin_left", 0.032)]) == {}
    assert set(events([pick("box_small"), place("bin_left", 0.06)])) == {("drop", "box_small")}


def test_the_standard_force_is_too_much_for_the_cup_and_pick_is_gentler():
    found = events([*ROUND_THE_CUP, ("close_gripper", {})])
    assert set(found) == {("grip_force", "cup")}
    event = found["grip_force", "cup"]
    assert event.call == 2
    assert event.severity == pytest.approx(WORLD.arm.grip_force - CUP.force_limit, rel=0.05)
    assert events([pick("cup"), place("bin_left")]) == {}


def test_a_second_object_on_a_full_slot_is_a_collision():
    found = events([pick("box_small"), place("bin_left"), pick("box_large"), place("bin_left")])
    assert found["collision", "box_small"].call == 3


def test_an_obstacle_in_the_way_is_hit_by_the_arm_and_cleared_at_travel_height():
    post = {"obstacles": {"post": {"x": 0.42, "y": 0.4, "size": [0.05, 0.05, 0.3]}}}
    low = [pick("box_small"), to(0.5, 0.2, 0.15), to(0.35, 0.6, 0.15)]
    assert ("collision", "post") in events(low, post)
    assert events([pick("box_small"), place("bin_left")], post) == {}


# What the coarse sensors tell of it.


def test_a_grip_too_hard_is_unobserved():
    report = judge([*ROUND_THE_CUP, ("close_gripper", {}), to(CUP.x, CUP.y, 0.2)])
    (verdict,) = report.events
    assert (verdict.kind, verdict.observed, verdict.evidence) == ("grip_force", False, None)
    assert report.replay_matches


def test_a_box_pushed_out_of_its_slot_is_observed():
    report = judge([BESIDE_BOX, BEYOND_BOX, ("home", {})])
    assert {(v.kind, v.observed) for v in report.events} == {
        ("collision", True),
        ("object_displaced", True),
    }
    assert all(v.evidence["sensor"] == "at_slot.box_small" for v in report.events)
    assert all(v.evidence["counterfactual"] is True for v in report.events)


def test_a_box_grazed_by_a_few_millimetres_is_unobserved():
    reach = outermost("y")
    near = BOX.y - BOX.size[1] / 2 - reach
    graze = [
        to(0.5, near - 0.05, 0.03),
        to(0.5, near + 0.008, 0.03),
        to(0.5, near - 0.05, 0.03),
        ("home", {}),
    ]
    report = judge(graze)
    assert {v.kind for v in report.events} == {"collision", "object_displaced"}
    assert not any(v.observed for v in report.events)
    golden = [Call("home", {})]
    assert judge(graze, golden=golden).final_state_ok


def test_a_drop_into_the_bin_is_unobserved_and_one_beside_it_is_the_same_either_way():
    report = judge([pick("box_small"), place("bin_left", 0.15), ("home", {})])
    (verdict,) = report.events
    assert (verdict.kind, verdict.observed) == ("drop", False)


@pytest.mark.slow
def test_a_move_off_the_path_is_judged_by_leaving_it_out():
    report = judge([to(0.5, 0.5, 0.4), pick("cup"), ("home", {})], harmful=frozenset({0}))
    (deviation,) = report.deviations
    assert report.events == ()
    assert (deviation.effect, deviation.observed) == (True, True)
    assert deviation.evidence["sensor"] == "sense_pose.x", "the arm knows its own pose"
    script = [pick("cup"), place("bin_left"), pick("panel_X"), place("bin_right")]
    report = judge(script, harmful=frozenset({2, 3}))
    assert [(d.k, d.observed) for d in report.deviations] == [(2, True), (3, True)]


def test_a_detour_touches_nothing_and_takes_the_recorded_time():
    simulator, _ = arm()
    do(simulator, BESIDE_BOX[0], **BESIDE_BOX[1])
    plain, _ = run([BESIDE_BOX, BEYOND_BOX])
    took = do(plain, "sense_pose").t - simulator.clock.now

    outcome = simulator.execute(*BEYOND_BOX, Event(), remedy="detour", forced=True, duration=took)
    assert outcome.duration == pytest.approx(took)
    assert outcome.value["y"] == BEYOND_BOX[1]["y"]
    assert {event.kind for event in simulator.events} <= {"joint_torque", "peak_torque"}
    assert simulator.state_dict()["objects"]["box_small"]["y"] == pytest.approx(BOX.y, abs=1e-4)
