"""The SO-101's tools: what they do, what they refuse, and that an episode repeats itself."""

import math

import numpy as np
import pytest
from so101_rig import KIND, do, needs_so101, place, so101, world

pytestmark = needs_so101


def test_an_object_goes_into_a_bin_without_harm_turned_as_asked():
    simulator, samples = so101()
    assert do(simulator, "pick", object_id="cube_orange").status == "ok"
    tray = world().bins["bin_right"]
    placed = do(simulator, "place", x=tray.x, y=tray.y, z=tray.z, yaw=0.3)
    assert placed.status == "ok" and placed.value is not None
    assert math.dist((placed.value["x"], placed.value["y"]), (tray.x, tray.y)) < 0.003
    assert abs(math.sin(2 * (placed.value["yaw"] - 0.3))) < 0.05, "to a quarter turn"
    assert placed.value["z"] == pytest.approx(tray.z, abs=0.001)
    assert do(simulator, "home").value["x"] == pytest.approx(0.2, abs=0.002)
    simulator.finish()
    assert simulator.events == ()
    assert {"gripper_closed", "at_slot.bin_right", "gripper_load"} <= {sample.sensor for sample in samples}


def test_a_move_reaches_position_pitch_and_roll():
    simulator, _ = so101()
    goal = {"x": 0.22, "y": 0.1, "z": 0.1, "pitch": 0.9, "roll": 0.5}
    value = do(simulator, "move_to", **goal).value
    assert value is not None
    assert np.allclose([value[key] for key in goal], list(goal.values()), atol=0.003)
    joints = do(simulator, "sense_joints").value
    assert joints is not None
    assert joints["wrist_roll"] == pytest.approx(0.5, abs=0.003)
    assert joints["shoulder_lift_load"] < 0.0, "it carries the arm"


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("pick", {"object_id": "bin_left"}, "unknown_object"),
        ("pick", {"object_id": "cup"}, "unknown_object"),
        ("place", {"x": 0.2, "y": 0.1, "z": 0.02}, "nothing_held"),
        ("move_to", {"x": 0.5, "y": 0.0, "z": 0.1}, "out_of_reach"),
        ("move_to", {"x": 0.24, "y": 0.0, "z": 0.2}, "out_of_reach"),
        ("move_to", {"x": 0.2, "y": 0.0, "z": -0.01}, "below_table"),
    ],
)
def test_what_cannot_be_done_is_refused(tool, arguments, code):
    outcome = do(so101()[0], tool, **arguments)
    assert (outcome.status, outcome.code) == ("rejected", code)


def test_a_locked_arm_does_not_move():
    simulator, _ = so101({"safety_locked": True})
    assert do(simulator, "home").code == "safety_locked"
    assert do(simulator, "unlock_safety").value == {"safety": "unlocked"}
    assert do(simulator, "home").status == "ok"


def test_an_arm_that_presses_on_gives_way_and_says_so_at_its_next_motion():
    simulator, _ = so101({"obstacles": {"post": {"x": 0.24, "y": -0.13, "size": [0.03, 0.03, 0.2]}}})
    do(simulator, "move_to", x=0.26, y=-0.02, z=0.05)
    assert do(simulator, "move_to", x=0.2, y=-0.2, z=0.05).status == "ok", "it has not pressed for long yet"
    do(simulator, "wait", seconds=3.0)
    outcome = do(simulator, "home")
    assert (outcome.status, outcome.code) == ("fault", "protective_stop")
    assert simulator.state_dict()["safety_locked"]
    assert do(simulator, "home").code == "safety_locked"
    assert do(simulator, "unlock_safety").status == "ok"
    assert do(simulator, "home").status == "ok"


def run(seed):
    simulator, samples = so101({"hidden": {"sensor_noise": 1.5, "dropout": 0.1}}, seed)
    do(simulator, "pick", object_id="vial")
    place(simulator, "bin_left")
    simulator.finish()
    return samples, simulator.state_dict(), simulator.clock.now


def test_an_episode_repeats_itself_bit_for_bit():
    assert run(3) == run(3)


def test_an_episode_goes_on_from_a_snapshot_bit_for_bit():
    simulator, samples = so101()
    do(simulator, "pick", object_id="cube_blue")
    snapshot, before = simulator.snapshot(), len(samples)
    place(simulator, "bin_left")
    first = simulator.state_dict(), samples[before:], simulator.clock.now
    del samples[before:]
    simulator.restore(snapshot)
    place(simulator, "bin_left")
    assert (simulator.state_dict(), samples[before:], simulator.clock.now) == first


def test_host_and_simulator_have_the_same_interlocks():
    known = KIND.known_state(None, False)
    assert so101()[0].interlocks is known.interlocks
    for tool in known.interlocks:
        assert known.refusal(tool, {"x": 9.0, "y": 9.0, "z": 1.0, "object_id": "o"}) is None
    known = KIND.known_state(world(), True)
    assert known.refusal("home", {}).code == "safety_locked"
    # Else its frames keep what the whole call stack holds, in a cycle.
    assert known.refusal("home", {}).__traceback__ is None
    assert known.refusal("get_object_pose", {"object_id": "cup"}).code == "unknown_object"


def test_the_host_learns_the_lock_and_the_empty_gripper():
    known, (simulator, _) = KIND.known_state(world(), True), so101({"safety_locked": True})
    assert known.refusal("place", {"x": 0.2, "y": 0.1, "z": 0.02}).code == "safety_locked"
    for tool, arguments in (("unlock_safety", {}), ("pick", {"object_id": "cube_blue"})):
        known.on_outcome(tool, arguments, do(simulator, tool, **arguments))
    assert known.refusal("place", {"x": 0.2, "y": 0.1, "z": 0.02}) is None
    known.on_outcome("open_gripper", {}, do(simulator, "open_gripper"))
    assert known.refusal("place", {"x": 0.2, "y": 0.1, "z": 0.02}).code == "nothing_held"


@pytest.mark.parametrize(
    ("init", "told"),
    [
        ({"objects": {"cube_blue": {"size": [0.1, 0.1, 0.03]}}}, "too wide"),
        ({"objects": {"cube_blue": {"x": 0.0, "y": 0.0}}}, "cube_blue stands in the arm's foot"),
        ({"pose": {"x": 0.5}}, "pose: beyond the"),
        ({"home": {"z": 0.5}}, "home: beyond the"),
    ],
)
def test_an_impossible_table_is_told_in_one_line(init, told):
    answer = so101()[0].init(init, 0)
    assert answer.code == "bad_state"
    assert told in answer.message and "\n" not in answer.message
