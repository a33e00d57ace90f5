"""The driver for LeRobot's class Robot, with a class of the same interface on the emulated servo bus."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from driver_rig import Calling, driven, faults_found, rig_file, said
from standins.feetech_bus import FeetechBus

from configs.rigs_loader import load_rig
from core_eval.rig.opening import open_rig
from core_eval.rig.signals import RigError
from devices.outcome import Outcome, StopOutcome

pytestmark = [pytest.mark.serial, pytest.mark.stops]

DEVICE = "joint_arm"


@pytest.fixture
def bus() -> Iterator[FeetechBus]:
    with FeetechBus() as bus:
        yield bus


def test_it_moves_its_joints_evenly_and_stops_where_it_is(bus: FeetechBus, tmp_path: Path) -> None:
    with driven(rig_file(tmp_path, "lerobot", bus.url), DEVICE) as rig:

        def joints(**goals: Any) -> Outcome:
            return rig.call("move_joints", {"joints": goals}, None)

        assert said(joints(gripper=10)) == ("rejected", "safety_locked")
        rig.call("unlock_safety", {}, None)
        moved = joints(shoulder_pan=30, gripper=10)
        names = rig.call("list_joints", {}, None).value["joints"]
        assert said(moved) == ("ok", None) and list(moved.value) == names
        assert moved.value["shoulder_pan"] == pytest.approx(30, abs=3) and moved.value["wrist_roll"] == 0
        for wrong in ({"knee": 1}, {"gripper": "open"}):
            assert joints(**wrong).status == "rejected"
        bus.servos[6].blocked_below = 2100.0
        assert said(joints(gripper=-10)) == ("fault", "not_reached")
        assert bus.servos[6].goal == 2048 - 114, "it presses on what it holds"
        assert said(joints(gripper=0)) == ("rejected", "safety_locked")
        rig.call("unlock_safety", {}, None)
        move = Calling(rig, "move_joints", {"joints": {"shoulder_pan": -170}})
        time.sleep(0.3)
        assert rig.client.estop() is StopOutcome.CONFIRMED
        assert said(move.result()) == ("fault", "stopped")
        where = bus.servos[1].position
        assert 300 < where < 2388, "it has begun, and not ended"
        time.sleep(0.2)
        assert bus.servos[1].position == where
    assert bus.torque_writes == [], "the arm holds at the end"


def test_an_arm_without_calibration_or_of_another_package_is_refused(bus: FeetechBus, tmp_path: Path) -> None:
    for options, says in (
        ({"config": '{"calibrated": false}'}, "run lerobot-calibrate"),
        ({"robot": "subprocess:Popen"}, "robots are of lerobot, or of a package lerobot_robot_NAME"),
        ({"robot": "lerobot.robots:Nothing"}, "needs lerobot: pip install"),
        ({"config": "{"}, "the option config"),
    ):
        path = rig_file(tmp_path, "lerobot", bus.url, **options)
        with pytest.raises(RigError, match=says), open_rig(load_rig(str(path))):
            pass


def test_it_tells_the_truth_on_a_disturbed_line(tmp_path: Path) -> None:
    found = faults_found(FeetechBus, lambda own, bus: rig_file(own, "lerobot", bus.url), tmp_path)
    assert all(one.verdict == "ok" for one in found), found
    assert "calls of sense_joints" in found[0].text
