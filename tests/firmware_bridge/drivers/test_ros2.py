"""The ROS 2 driver against a stand-in of rosbridge's protocol before a kinematic base."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bridge_rig import wait_until
from driver_rig import Calling, driven, faults_found, rig_file, said

from core_eval.cli.main import main
from devices.outcome import StopOutcome

pytest.importorskip("websockets")

from standins.ros_base import CANCELED, Goal, RosBase

pytestmark = [pytest.mark.serial, pytest.mark.stops]

DEVICE = "mobile_base"
FAR = {"x": 40.0, "y": 0.0}
TASK = """
tasks:
  - id: patrol
    device: mobile_base.yaml
    prompt: Unlock the safety, drive to (1, 2), and lock the safety.
    plan:
      - unlock_safety
      - move_to: {x: 1.0, y: 2.0, yaw: 0.5}
      - lock_safety
"""


@pytest.fixture
def base() -> Iterator[RosBase]:
    with RosBase() as base:
        yield base


def test_a_task_runs_over_it(base: RosBase, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rig, task = rig_file(tmp_path, "ros2", base.url), tmp_path / "task.yaml"
    task.write_text(TASK)
    command = ["run", "--task", str(task), "--rig", str(rig), "--agent", "oracle", "--json"]
    assert main([*command, "--db", str(tmp_path / "log.db")]) == 0
    (episode,) = json.loads(capsys.readouterr().out)["episodes"]
    told = episode["status"], episode["path_correctness"], episode["stop"]
    assert told == ("completed", 1.0, "confirmed")
    assert base.at == pytest.approx([1.0, 2.0, 0.5])


def test_a_velocity_is_repeated_ended_and_stopped(base: RosBase, tmp_path: Path) -> None:
    path = rig_file(tmp_path, "ros2", base.url, stamped=True)
    with driven(path, DEVICE) as rig:
        assert said(rig.call("drive", {"linear": 0.5, "seconds": 0.4}, None)) == ("rejected", "safety_locked")
        assert not any(linear for _, linear, _ in base.told)
        rig.call("unlock_safety", {}, None)
        driven_to = rig.call("drive", {"linear": 0.5, "seconds": 0.4}, None)
        assert said(driven_to) == ("ok", None) and 0.1 < driven_to.value["x"] < 0.5
        assert sum(linear == 0.5 for _, linear, _ in base.told) >= 2 and base.velocity == (0.0, 0.0)
        assert rig.call("read_sensor", {"name": "battery"}, None).value == {"name": "battery", "value": 0.5}
        assert said(rig.call("read_sensor", {"name": "lidar"}, None)) == ("rejected", "unknown_name")
        turn = Calling(rig, "drive", {"linear": 0.0, "angular": 1.0, "seconds": 20.0})
        assert wait_until(lambda: base.velocity == (0.0, 1.0))
        assert rig.client.estop() is StopOutcome.CONFIRMED
        assert said(turn.result()) == ("fault", "stopped")
        told = len(base.told)
        assert base.velocity == (0.0, 0.0) and not base.moving
        time.sleep(0.25)
        assert len(base.told) == told, "nothing is told after the stop"


@pytest.mark.parametrize("accepts", [0.0, 0.5])
@pytest.mark.parametrize("new_thread", [True, False])
def test_a_stop_cancels_a_goal_even_one_not_yet_accepted(
    base: RosBase, accepts: float, new_thread: bool, tmp_path: Path
) -> None:
    path = rig_file(tmp_path, "ros2", base.url)
    base.accepts, base.new_thread, base.plans = accepts, new_thread, 0.3
    with driven(path, DEVICE) as rig:
        rig.call("unlock_safety", {}, None)
        move = Calling(rig, "move_to", FAR)
        assert accepts or wait_until(lambda: base.moving)
        time.sleep(0.1)
        assert rig.client.estop() is StopOutcome.CONFIRMED
        assert said(move.result()) == ("fault", "stopped")
        assert [goal.status for goal in base.goals.values()] == [CANCELED]
        where = list(base.at)
        time.sleep(0.5)
        assert base.at == where


def test_a_stop_is_not_confirmed_while_the_base_moves(base: RosBase, tmp_path: Path) -> None:
    path = rig_file(tmp_path, "ros2", base.url, action="")
    with driven(path, DEVICE) as rig:
        rig.call("unlock_safety", {}, None)
        assert said(rig.call("move_to", FAR, None)) == ("rejected", "not_fitted")
        # A base that somebody else drives: the driver's zero does not end it.
        place = {"position": FAR, "orientation": {"z": 0.0, "w": 1.0}}
        base.goals["other"] = Goal(place, time.monotonic())
        assert wait_until(lambda: base.moving)
        assert rig.client.estop() is StopOutcome.SENT


def test_an_aborted_goal_and_a_lost_connection_are_faults(base: RosBase, tmp_path: Path) -> None:
    path = rig_file(tmp_path, "ros2", base.url)
    with driven(path, DEVICE) as rig:
        rig.call("unlock_safety", {}, None)
        base.aborts = True
        assert said(rig.call("move_to", FAR, None)) == ("fault", "not_reached")
        base.aborts = False
        assert said(rig.call("move_to", FAR, None)) == ("rejected", "safety_locked")
        rig.call("unlock_safety", {}, None)
        move = Calling(rig, "move_to", FAR)
        assert wait_until(lambda: base.moving)
        for one in set().union(*base._topics.values()):
            one.socket.shutdown(2)
        assert said(move.result()) == ("fault", "link")
        # The planner went on; the stop goes first when the connection is back.
        assert wait_until(lambda: not base.moving)


def test_it_tells_the_truth_on_a_disturbed_line(tmp_path: Path) -> None:
    found = faults_found(RosBase, lambda own, base: rig_file(own, "ros2", base.url), tmp_path)
    assert all(one.verdict == "ok" for one in found), found
    assert "calls of sense_pose" in found[0].text
