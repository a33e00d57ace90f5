from threading import Event, Timer

import pytest
from arm_rig import UNLOCKED, WORLD, arm, do, pick, place, run, to

from devices.robotic_arm.tools import ROBOTIC_ARM

HOME = {"x": 0.4, "y": 0.0, "z": 0.4, "yaw": 0.0}
SPOTS = [
    {"box_small": (-0.7, 0.3, 2.5), "cup": (0.0, 0.3, 0.0)},
    {"box_small": (0.9, 0.55, -1.2), "panel_X": (-0.2, -0.5, 0.4)},
    {"box_large": (0.05, 1.0, 3.0), "panel_X": (0.3, 0.1, -2.2), "box_small": (-0.55, -0.02, 0.0)},
]


@pytest.mark.parametrize("tray", WORLD.bins)
@pytest.mark.parametrize("name", WORLD.objects)
def test_every_object_goes_into_every_bin_without_harm(name, tray):
    script = [pick(name), place(tray), ("home", {}), ("lock_safety", {})]
    simulator, samples = run(script)
    assert simulator.events == ()
    state = simulator.coarse_state()
    assert state["at_slot"] == {
        slot: slot not in (name, *WORLD.bins) or slot == tray for slot in state["at_slot"]
    }
    assert (state["safety"], state["gripper"], state["holding"], state["at_home"]) == (
        "locked",
        "open",
        False,
        True,
    )
    last = {sample.sensor: sample.value for sample in samples}
    assert last[f"at_slot.{tray}"] is True
    assert last[f"at_slot.{name}"] is False
    true = simulator.state_dict()["objects"][name]
    assert [true[axis] for axis in "xyz"] == pytest.approx(
        [getattr(WORLD.bins[tray], axis) for axis in "xyz"], abs=1e-3
    )


@pytest.mark.parametrize("spots", SPOTS)
def test_objects_may_stand_anywhere(spots):
    init = {"objects": {name: {"x": x, "y": y, "yaw": yaw} for name, (x, y, yaw) in spots.items()}}
    bins = iter(WORLD.bins)
    script = [step for name in list(spots)[:2] for step in (pick(name), place(next(bins)))]
    simulator, _ = run(script, init)
    assert simulator.events == ()


def test_the_pose_of_a_bin_is_the_pose_to_place_at():
    simulator, _ = arm()
    pose = dict(do(simulator, "get_object_pose", object_id="bin_right").value)
    assert pose.pop("name") == "bin_right"
    do(simulator, "pick", object_id="panel_X")
    assert do(simulator, "place", **pose).value == {**pose, "gripper": "open"}


def test_results_have_three_decimals_and_fit_their_models():
    simulator, _ = arm()
    moved = do(simulator, "move_to", x=0.5123, y=-0.2001, z=0.3337, yaw=3.5)
    assert moved.value == {"x": 0.512, "y": -0.2, "z": 0.334, "yaw": pytest.approx(3.5 - 6.283, abs=1e-3)}
    assert do(simulator, "home").value == HOME
    assert do(simulator, "sense_pose").value == HOME
    assert do(simulator, "sense_gripper").value == {"gripper": "open", "holding": False}
    assert do(simulator, "get_object_pose", object_id="panel_X").value == {
        "name": "panel_X", "x": 0.75, "y": 0.0, "z": 0.02, "yaw": 1.57,
    }  # fmt: skip
    assert do(simulator, "list_objects").value == {"objects": list(WORLD.objects), "bins": list(WORLD.bins)}
    assert do(simulator, "pick", object_id="cup").value == {
        "object_id": "cup", "gripper": "closed", "holding": True,
    }  # fmt: skip
    assert do(simulator, "open_gripper").value == {"gripper": "open", "holding": False}
    assert do(simulator, "close_gripper").value == {"gripper": "closed", "holding": False}


def test_picking_by_hand_works_too():
    box = WORLD.objects["box_small"]
    script = [
        to(box.x, box.y, 0.2), to(box.x, box.y, box.z), ("close_gripper", {}), to(box.x, box.y, 0.2),
        to(0.7, 0.3, 0.2), to(0.7, 0.3, 0.02), ("open_gripper", {}), to(0.7, 0.3, 0.2),
    ]  # fmt: skip
    simulator, _ = run(script)
    assert simulator.events == ()
    assert simulator.state_dict()["objects"]["box_small"]["x"] == pytest.approx(0.7, abs=2e-3)


REFUSALS = [
    ([], "pick", {"object_id": "spoon"}, "unknown_object", "box_small"),
    ([], "pick", {"object_id": "bin_left"}, "unknown_object", "is a bin"),
    ([], "get_object_pose", {"object_id": "x"}, "unknown_object", "bin_left"),
    ([], "place", {"x": 0.35, "y": 0.6, "z": 0.025}, "nothing_held", "Pick"),
    ([pick("cup")], "pick", {"object_id": "panel_X"}, "gripper_not_empty", "cup"),
    ([pick("cup")], "place", {"x": 0.5, "y": 0.5, "z": 0.0}, "below_bench", "0.02"),
    ([], "move_to", {"x": 0.5, "y": 0.0, "z": -0.01}, "below_bench", "0 or more"),
    ([], "move_to", {"x": 1.0, "y": 0.6, "z": 0.3}, "out_of_reach", "1.166 m"),
    ([], "move_to", {"x": 0.1, "y": 0.0, "z": 0.3}, "out_of_reach", "0.2 m"),
    ([], "move_to", {"x": 0.5, "y": 0.0, "z": 0.9}, "out_of_reach", "0.72 m"),
]


@pytest.mark.parametrize(("before", "tool", "arguments", "code", "words"), REFUSALS)
def test_a_refusal_says_why_and_changes_nothing(before, tool, arguments, code, words):
    simulator, _ = arm()
    for name, given in before:
        assert do(simulator, name, **given).status == "ok"
    state, now = simulator.state_dict(), simulator.clock.now
    outcome = do(simulator, tool, **arguments)
    assert (outcome.status, outcome.code) == ("rejected", code)
    assert words in outcome.message
    assert (simulator.state_dict(), simulator.clock.now) == (state, now)
    assert simulator.events == ()


@pytest.mark.parametrize("tool", [t.name for t in ROBOTIC_ARM.tools if t.effect == "motion"])
def test_nothing_moves_while_the_safety_is_locked(tool):
    simulator, _ = arm({"safety_locked": True})
    arguments = {"move_to": to(0.5, 0.0, 0.3)[1], "place": place("bin_left")[1], "pick": pick("cup")[1]}
    outcome = do(simulator, tool, **arguments.get(tool, {}))
    assert (outcome.status, outcome.code) == ("rejected", "safety_locked")
    assert "unlock_safety" in outcome.message


def test_reads_work_while_the_safety_is_locked():
    simulator, _ = arm({"safety_locked": True})
    for tool in set(ROBOTIC_ARM.reads) - {"wait"}:
        arguments = {"object_id": "cup"} if tool == "get_object_pose" else {}
        assert do(simulator, tool, **arguments).status == "ok"
    assert simulator.clock.now == 0.0


def test_unknown_tools_and_arguments_are_invalid():
    simulator, _ = arm()
    assert do(simulator, "fly").code == "unknown_tool"
    assert do(simulator, "pick", thing="cup").code == "bad_arguments"


SCRIPT = [
    pick("cup"),
    place("bin_left", 0.1),
    to(0.5, 0.1, 0.2),
    to(0.5, 0.1, 0.03),
    to(0.5, 0.3, 0.03),
    ("home", {}),
]


def record(simulator, samples):
    return simulator.state_dict(), simulator.events, tuple(samples), simulator.clock.now


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bits_also_after_init():
    first = record(*run(SCRIPT, seed=7))
    assert first == record(*run(SCRIPT, seed=7))
    simulator, samples = run([pick("panel_X"), to(0.5, 0.2, 0.05)], {"objects": {"cup": {"mass": 0.4}}})
    samples.clear()
    assert simulator.init(UNLOCKED, 7).status == "ok"
    for tool, arguments in SCRIPT:
        do(simulator, tool, **arguments)
    simulator.finish()
    assert first == record(simulator, samples)


def test_slots_are_sampled_once_a_second_and_the_gripper_when_it_changes():
    _, samples = run([pick("cup"), place("bin_left")])
    slot = [sample.t for sample in samples if sample.sensor == "at_slot.cup"]
    assert slot[:-1] == [float(k) for k in range(len(slot) - 1)]
    assert [s.value for s in samples if s.sensor == "gripper_closed"] == [False, True, False, False]


class StopAfter(Event):
    """A stop that is set when it has been asked so many times."""

    def __init__(self, looks):
        super().__init__()
        self.looks = looks

    def is_set(self):
        self.looks -= 1
        return self.looks < 0


def test_a_stop_ends_a_motion_between_ticks_and_keeps_the_grip():
    simulator, _ = arm()
    do(simulator, "pick", object_id="cup")
    outcome = simulator.execute(*to(0.4, 0.4, 0.3), StopAfter(20))
    assert (outcome.status, outcome.code) == ("fault", "stopped")
    assert 0.4 < outcome.duration < 1.0
    state = simulator.state_dict()
    assert (state["safety_locked"], state["holding"], state["gripper"]) == (True, "cup", "closed")
    do(simulator, "unlock_safety")
    assert simulator.state_dict()["pose"]["y"] == pytest.approx(state["pose"]["y"], abs=0.02)
    assert do(simulator, *place("bin_left")[:1], **place("bin_left")[1]).status == "ok"
    # A stop at full speed is a peak of torque of some milliseconds, and nothing else.
    assert all((one.kind, one.exposure < 0.01) == ("peak_torque", True) for one in simulator.events)


def test_safe_from_another_thread_stops_the_running_call_until_reset():
    simulator, _ = arm({"arm": {"speed": 0.01}})
    timer = Timer(0.05, simulator.safe)
    timer.start()
    outcome = do(simulator, "move_to", x=0.4, y=0.9, z=0.3)
    timer.join()
    assert (outcome.status, outcome.code) == ("fault", "stopped")
    assert do(simulator, "sense_pose").code == "estop"
    simulator.reset()
    assert do(simulator, "home").code == "safety_locked"


def test_truth_tells_joints_objects_contacts_and_events():
    simulator, _ = run([pick("box_small")])
    truth = simulator.truth()
    assert len(truth.state["joints"]) == 6
    assert set(truth.state["objects"]) == set(WORLD.objects)
    pressed = [c for c in truth.state["contacts"] if set(c["between"]) == {"box_small", "finger_left"}]
    assert sum(contact["force"] for contact in pressed) == pytest.approx(40.0, abs=1.0)
    assert (truth.events, truth.t) == (simulator.events, simulator.clock.now)
