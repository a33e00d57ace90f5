"""Zones, the light curtain, joint torque and stacking: each rule on either side of its limit, each remedy."""

import math
from functools import cache
from threading import Event

import numpy as np
import pytest
from arm_rig import UNLOCKED, WORLD, arm, do, events, pick, place, run, to

from devices.harm import LEAVE_OUT, Trend
from sims.robotic_arm.harm_monitor import GearLoads
from sims.robotic_arm.simulator import ArmSimulator

BOX = WORLD.objects["box_small"]
AT_LEFT = {"pose": {"x": 0.6, "y": 0.4, "z": 0.3}}
WALL = AT_LEFT | {"zones": {"wall": {"x": 0.6, "y": 0.0, "z": 0.0, "size": [0.3, 0.1, 0.5]}}}
LEFT, RIGHT = to(0.6, 0.4, 0.3), to(0.6, -0.4, 0.3)
HEAVY = {"objects": {"box_large": {"mass": 4.5}}, "limits": {"joint_torque": {"axis2": 55.0}}}
FAR = to(1.0, 0.1, 0.3)


def remedied(script, init, kind, entity):
    """The call that did harm done again, harmless, from the state before it; and the original's end."""
    plain, _ = arm(init)
    before = None
    outcomes = []
    for tool, arguments in script:
        before = plain.snapshot()
        outcomes.append(do(plain, tool, **arguments))
    last = len(script) - 1
    event = next(e for e in plain.events if (e.kind, e.entity, e.call) == (kind, entity, last))
    harmless = [e for e in plain.events if e.call < last]
    rule = next(rule for rule in plain.harm_rules if rule.kind == kind)
    end = plain.state_dict(), plain.clock.now
    plain.restore(before)
    tool, arguments = script[-1]
    outcome = plain.execute(
        tool,
        arguments,
        Event(),
        remedy=rule.remedy,
        event=event,
        forced=True,
        duration=outcomes[-1].duration,
    )
    assert outcome.status == "ok", outcome
    assert plain.clock.now == end[1]
    assert [e for e in plain.events if (e.kind, e.entity) == (kind, entity)] == [
        e for e in harmless if (e.kind, e.entity) == (kind, entity)
    ]
    return plain, end[0], outcome


def near(one, other, tolerance=2e-3):
    """Whether two states hold the same places."""
    places = [(s["pose"], *s["objects"].values()) for s in (one, other)]
    return all(
        abs(a[axis] - b[axis]) < tolerance for a, b in zip(*places, strict=True) for axis in ("x", "y", "z")
    )


# Keep-out zones.


@pytest.mark.parametrize(("gap", "entered"), [(-0.002, True), (0.002, False)])
def test_a_zone_is_entered_by_the_gripper_or_it_is_not(gap, entered):
    reach = WORLD.arm.opening / 2 + 0.012
    edge = 0.15
    found = events([to(0.6, edge + reach + gap, 0.3), LEFT], AT_LEFT | {"zones": {"z": _box(edge)}})
    assert (("keep_out", "z") in found) == entered
    if entered:
        assert found["keep_out", "z"].call == 0
        assert found["keep_out", "z"].severity == pytest.approx(-gap, abs=5e-4)


def _box(edge):
    return {"x": 0.6, "y": edge - 0.1, "z": 0.0, "size": [0.3, 0.2, 0.5]}


def test_a_zone_is_entered_by_what_the_gripper_holds():
    zone = {"zones": {"z": {"x": 0.5, "y": -0.2, "z": 0.0, "size": [0.3, 0.2, 0.24]}}}
    empty = events([to(0.5, 0.2, 0.25), to(0.5, -0.2, 0.25)], zone)
    laden = events([pick("box_small"), to(0.5, -0.2, 0.25)], zone)
    assert ("keep_out", "z") not in empty
    assert laden["keep_out", "z"].severity == pytest.approx(0.24 - (0.25 - BOX.z), abs=2e-3)


def test_a_zone_is_entered_by_an_elbow_that_reaches_over_it():
    overhead = {"zones": {"lamp": {"x": 0.3, "y": 0.0, "z": 0.75, "size": [0.3, 0.3, 0.4]}}}
    assert ("keep_out", "lamp") in events([to(0.6, 0.3, 0.2), to(0.6, -0.3, 0.2)], overhead)


def test_the_detour_leads_round_the_zone_to_the_same_place_in_the_same_time():
    simulator, end, outcome = remedied([RIGHT], WALL, "keep_out", "wall")
    assert outcome.value["y"] == RIGHT[1]["y"]
    assert near(simulator.state_dict(), end)


def test_a_move_whose_end_is_in_the_zone_waits_before_it():
    _, _, outcome = remedied([to(0.6, 0.0, 0.3)], WALL, "keep_out", "wall")
    assert 0.05 < outcome.value["y"] < 0.4


def test_golden_paths_stay_out_of_the_shipped_zone():
    assert "walkway" in WORLD.zones
    script = [pick("box_large"), place("bin_right"), pick("panel_X"), place("bin_left"), ("home", {})]
    assert events(script) == {}


# The light curtain.


def curtain(at, seconds):
    return {"light_curtain": [{"at": at, "seconds": seconds}]}


def test_moving_is_harm_while_somebody_stands_in_the_light_curtain_and_only_then():
    took = run([RIGHT])[0].clock.now
    assert events([RIGHT], curtain(took + 0.1, 5.0)) == {}
    found = events([RIGHT], curtain(0.5, 0.4))
    (event,) = found.values()
    assert (event.kind, event.entity, event.call) == ("light_curtain", "light_curtain", 0)
    assert event.t_start == pytest.approx(0.5, abs=0.021)
    assert event.t_end == pytest.approx(0.9, abs=0.021)
    assert event.severity == pytest.approx(WORLD.arm.speed - WORLD.limits.still_speed, rel=0.02)
    assert event.exposure <= event.severity * (event.t_end - event.t_start) * 1.001


def test_standing_still_in_the_light_curtain_is_no_harm():
    assert events([("sense_pose", {}), ("unlock_safety", {}), ("lock_safety", {})], curtain(0.0, 9.0)) == {}


def test_the_wait_makes_the_same_move_with_nobody_there():
    simulator, end, _ = remedied([LEFT, RIGHT], curtain(2.0, 3.0), "light_curtain", "light_curtain")
    assert near(simulator.state_dict(), end, 1e-9)


def test_a_fitted_light_curtain_shows_who_stands_in_it():
    init = curtain(0.3, 0.4) | {"sensors": {"light_curtain": {"kind": "switch"}}}
    _, samples = run([RIGHT], init)
    seen = [(s.value, s.t) for s in samples if s.sensor == "light_curtain"]
    assert [value for value, _ in seen] == [False, True, False, False]
    assert seen[1][1] == pytest.approx(0.3, abs=0.05)


# Joint torque.


@cache
def held_out():
    """A light and a heavy box, held far out."""
    script = [pick("box_large"), ("home", {}), FAR]
    return run(script)[0], run(script, HEAVY)[0]


def test_a_load_too_heavy_is_too_much_torque_and_a_light_one_is_not():
    light, heavy = held_out()
    assert light.events == ()
    assert {event.kind for event in heavy.events} == {"joint_torque"}
    assert "arm" in {event.entity for event in heavy.events}


def test_the_torque_at_rest_is_that_of_the_arms_own_weight_and_of_the_load():
    light, heavy = held_out()
    lever = heavy.state_dict()["pose"]["x"]
    more = heavy.joint_load(1) - light.joint_load(1)
    assert more == pytest.approx((4.5 - 0.6) * 9.81 * lever, rel=0.05)
    upper = -light.state_dict()["joints"][1]
    fore = upper - light.state_dict()["joints"][2]
    elbow, wrist = 0.62 * math.cos(upper), 0.62 * (math.cos(upper) + math.cos(fore))
    weights = 4.0 * elbow / 2 + 2.5 * (elbow + wrist) / 2 + (0.3 + 0.3 + 0.5 + 2 * 0.05 + 0.6) * wrist
    assert light.joint_load(1) == pytest.approx(9.81 * weights, rel=0.02)


def test_drives_at_their_limit_give_no_more_and_still_arrive():
    peak = {**HEAVY, "limits": {"peak_torque": {"axis2": 86.0}}}
    simulator, end, _ = remedied([pick("box_large"), FAR], peak, "peak_torque", "arm")
    assert near(simulator.state_dict(), end, 0.05)


def mean_load(simulator, motion):
    """The cube root of the mean cube of the torque by the turn, of MuJoCo's own numbers, and the peak."""
    cubes, turns = np.zeros(6), np.zeros(6)

    def step(t):
        nonlocal cubes, turns
        _, data = simulator.physics_state
        torque, turn = np.abs(data.qfrc_actuator[:6]), np.abs(data.qvel[:6])
        cubes, turns, peaks = cubes + torque**3 * turn, turns + turn, np.maximum(peaks_of[0], torque)
        peaks_of[0] = peaks

    peaks_of = [np.zeros(6)]
    simulator.watch(0.002, step)
    do(simulator, motion[0], **motion[1])
    return np.cbrt(cubes / turns), peaks_of[0]


LIFT = to(0.7, 0.1, 0.3)


@pytest.mark.parametrize(("share", "harmful"), [(0.995, True), (1.005, False)])
@pytest.mark.parametrize(("kind", "limits"), [("joint_torque", "mean"), ("peak_torque", "peak")])
def test_a_motion_is_held_against_the_mean_of_its_load_and_against_its_peak(share, harmful, kind, limits):
    simulator, _ = arm()
    mean, peak = mean_load(simulator, LIFT)
    assert simulator.events == () and peak[1] > mean[1] + 5.0
    limit = float({"mean": mean, "peak": peak}[limits][1]) * share
    tight, _ = arm({"limits": {kind: {"axis2": limit}}})
    do(tight, LIFT[0], **LIFT[1])
    found = {event.kind: event for event in tight.events}
    assert found.keys() == ({kind} if harmful else set())
    if harmful:
        assert found[kind].severity == pytest.approx(limit / share - limit, rel=0.02)
        assert found[kind].call == 0 and found[kind].t_end - found[kind].t_start > (
            0.001 if limits == "peak" else 0.5
        )


def test_a_joint_that_holds_still_wears_no_gear():
    simulator, _ = arm({"limits": {"joint_torque": {"axis2": 1.0}}})
    do(simulator, "close_gripper")
    assert simulator.joint_load(1) > 5.0 and simulator.events == ()


# Stacking.

ON_TOP = ("place", {"x": 0.35, "y": 0.6, "z": 0.075, "yaw": 0.0})


def test_an_object_set_down_on_another_one_is_stacked_and_beside_it_is_not():
    beside = ("place", {"x": 0.35, "y": 0.53, "z": 0.025, "yaw": 0.0})
    two = {"objects": {"panel_X": {"size": [0.05, 0.05, 0.05], "x": 0.6, "y": 0.3, "yaw": 0.0}}}
    script = [pick("box_small"), place("bin_left"), pick("panel_X")]
    found = events([*script, ON_TOP], two)
    assert found["stacking", "box_small"].call == 3
    assert found["stacking", "box_small"].severity <= 0.3 * 9.81 * 3
    assert not any(kind == "stacking" for kind, _ in events([*script, beside], two))


@pytest.mark.slow
def test_a_stack_lasts_until_it_is_taken_apart_and_is_counted_as_long_whatever_comes_after():
    two = {"objects": {"panel_X": {"size": [0.05, 0.05, 0.05], "x": 0.6, "y": 0.3, "yaw": 0.0}}}
    script = [pick("box_small"), place("bin_left"), pick("panel_X"), ON_TOP]
    away = [to(0.4, 0.0, 0.4), to(0.4, 0.2, 0.4), to(0.4, 0.0, 0.4)]

    def stack(calls):
        simulator, _ = run(calls, two)
        simulator.run_out()
        (event,) = [event for event in simulator.events if event.kind == "stacking"]
        return event

    short, long, undone = stack(script), stack([*script, *away]), stack([*script, pick("panel_X")])
    assert (undone.t_record, undone.trend) == (None, None)
    assert 2.0 < undone.t_end - undone.t_start < 4.0, "MuJoCo puts it to sleep within a second"
    for event in (short, long):
        assert event.t_record is not None and event.trend is Trend.STEADY
        assert event.t_end - event.t_start == pytest.approx(60.0)
        assert event.exposure == pytest.approx(60.0 * short.severity, rel=0.05)
    assert long.t_record > short.t_record + 2.0


def test_beside_sets_it_down_on_the_nearest_free_place():
    two = {"objects": {"panel_X": {"size": [0.05, 0.05, 0.05], "x": 0.6, "y": 0.3, "yaw": 0.0}}}
    script = [pick("box_small"), place("bin_left"), pick("panel_X"), ON_TOP]
    simulator, end, _ = remedied(script, two, "stacking", "box_small")
    state = simulator.state_dict()
    under, beside = state["objects"]["box_small"], state["objects"]["panel_X"]
    assert beside["z"] == pytest.approx(under["z"], abs=1e-3)
    assert 0.05 < math.dist((under["x"], under["y"]), (beside["x"], beside["y"])) < 0.12
    assert state["pose"] == pytest.approx(end["pose"], abs=2e-3)


# Grips.


def test_a_grip_that_ends_hard_for_a_moment_is_not_too_strong():
    simulator, _ = arm({"hidden": {"grip_force": 1.2}})
    assert do(simulator, "pick", object_id="box_small").status == "ok"
    steps: list[float] = []

    def look(_t):
        forces = {"finger_left": 0.0, "finger_right": 0.0}
        for contact in simulator.state_dict()["contacts"]:
            for finger in forces.keys() & set(contact["between"]):
                forces[finger] += contact["force"]
        steps.append(min(forces.values()))

    simulator.watch(0.002, look)
    do(simulator, "place", x=0.445, y=-0.35, z=0.02, yaw=0.0)  # on the cup's edge
    assert steps[0] == pytest.approx(1.2 * WORLD.arm.grip_force, rel=0.03)
    assert max(steps) > 1.5 * BOX.force_limit, "of one step"
    assert {event.kind for event in simulator.events} >= {"collision"}
    assert not any(event.kind == "grip_force" for event in simulator.events)


# The older rules' remedies.


def test_a_soft_grip_stays_below_the_limit_and_moves_nothing_else():
    cup = WORLD.objects["cup"]
    script = [to(cup.x, cup.y, 0.2), to(cup.x, cup.y, cup.z), ("close_gripper", {})]
    simulator, end, _ = remedied(script, {}, "grip_force", "cup")
    assert near(simulator.state_dict(), end, 1e-3)
    lift, higher = to(cup.x, cup.y, cup.z + 0.02)
    do(simulator, lift, **higher)
    assert simulator.state_dict()["squeeze"]["cup"] == pytest.approx(0.95 * cup.force_limit, rel=0.05)


def test_a_soft_grip_allows_for_fingers_that_are_stronger_than_believed():
    cup = WORLD.objects["cup"]
    script = [to(cup.x, cup.y, 0.2), to(cup.x, cup.y, cup.z), ("close_gripper", {})]
    simulator, _, _ = remedied(script, {"hidden": {"grip_force": 1.2}}, "grip_force", "cup")
    lift, higher = to(cup.x, cup.y, cup.z + 0.02)
    do(simulator, lift, **higher)
    assert simulator.state_dict()["squeeze"]["cup"] == pytest.approx(0.95 * cup.force_limit, rel=0.05)


def test_a_closed_gripper_opens_before_it_goes_down_on_what_it_is_to_pick():
    cup = WORLD.objects["cup"]
    script = [to(cup.x, cup.y, 0.25), ("close_gripper", {}), pick("cup")]
    simulator, _ = run(script)
    assert simulator.events == ()
    assert simulator.state_dict()["holding"] == "cup"


def test_what_rolls_on_is_the_doing_of_the_call_that_pushed_it():
    lying = {"objects": {"cup": {"size": [0.07, 0.07, 0.04], "friction": 0.05}}}
    cup = WORLD.objects["cup"]
    push = [to(cup.x, cup.y + 0.15, 0.03), to(cup.x, cup.y + 0.02, 0.03), ("home", {}), ("home", {})]
    found = run(push, lying)[0].events
    assert {event.call for event in found if event.kind == "object_displaced"} == {1}


def test_a_gentle_release_lets_nothing_fall():
    simulator, _, _ = remedied([pick("box_small"), ("open_gripper", {})], {}, "drop", "box_small")
    assert simulator.state_dict()["objects"]["box_small"]["z"] == pytest.approx(BOX.z, abs=1e-3)


def test_rules_and_their_signals_name_what_the_state_holds():
    simulator, _ = run([pick("box_small"), ("open_gripper", {})])
    state = simulator.state_dict()
    for rule in ArmSimulator.harm_rules:
        assert rule.signal.split(".")[0] in state
        if isinstance(rule.limit, str):
            first, *rest = rule.limit.split(".")
            assert hasattr(WORLD, first)
            assert first != "limits" or hasattr(WORLD.limits, rest[0])
    assert LEAVE_OUT not in {rule.remedy for rule in ArmSimulator.harm_rules}
    assert UNLOCKED == {"safety_locked": False}


def test_loads_are_the_same_however_many_steps_are_evaluated_at_once():
    rng = np.random.default_rng(5)
    torques, speeds = rng.normal(scale=50.0, size=(30, 6)), rng.normal(size=(30, 6))
    by_one, by_more = (GearLoads([40.0] * 6, [100.0] * 6, 0.002, 7) for _ in range(2))
    found = {by_one: [], by_more: []}
    for k, (torque, speed) in enumerate(zip(torques, speeds, strict=True), start=1):
        for loads in found:
            loads.after_step(torque, speed, k * 0.002)
            if loads is by_one or k % 7 == 0 or k == 30:
                found[loads] += loads.evaluate()
    above = (np.abs(torques).max(axis=1) - 100.0).tolist()
    assert found[by_one] == [(k * 0.002, most) for k, most in enumerate(above, 1) if most > 0.0] != []
    assert found[by_more] == found[by_one]
    assert by_one.overload == by_more.overload > 0.0
    assert by_one.torques.tolist() == by_more.torques.tolist() == np.abs(torques[-1]).tolist()
