"""The Marlin driver against a stand-in on a pty."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from bridge_rig import wait_until
from driver_rig import Calling, driven, faults_found, rig_file, said
from standins.marlin import Marlin

from configs.drivers_loader import load_driver
from configs.rigs_loader import load_rig
from core_eval.cli.main import main
from devices.drivers.settings import resolve
from devices.outcome import StopOutcome
from firmware_bridge.drivers.marlin import Marlin as MarlinDriver

pytestmark = [pytest.mark.serial, pytest.mark.stops]


@contextmanager
def served() -> Iterator[Any]:
    with Marlin() as board:
        board.keepalive = 0.2
        yield board


@pytest.fixture
def board() -> Iterator[Any]:
    with served() as board:
        yield board


def test_a_task_runs_over_it(board: Marlin, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rig = rig_file(tmp_path, "marlin-serial", board.url)
    command = ["run", "--task", "box_to_left_bin", "--rig", str(rig), "--agent", "oracle", "--json"]
    assert main([*command, "--db", str(tmp_path / "log.db")]) == 0
    (episode,) = json.loads(capsys.readouterr().out)["episodes"]
    assert (episode["status"], episode["path_correctness"], episode["stop"]) == (
        "completed",
        1.0,
        "confirmed",
    )
    assert board.servo == ["S10", "S90", "S10"] and board.quickstops > 0


def test_a_spoilt_line_is_sent_again_and_the_stop_ends_a_move(board: Marlin, tmp_path: Path) -> None:
    with driven(rig_file(tmp_path, "marlin-serial", board.url), "robotic_arm") as rig:
        assert said(rig.call("home", {}, None)) == ("rejected", "safety_locked")
        rig.call("unlock_safety", {}, None)
        board.spoil = 2
        assert said(rig.call("home", {}, None)) == ("ok", None)
        assert board.resent == 2 and board.at == pytest.approx([60.0, 110.0, 45.0])
        assert said(rig.call("move_to", {"x": 9.0, "y": 0.0, "z": 0.3, "yaw": 0.0}, None))[0] != "ok"
        turned = rig.call("move_to", {"x": 0.4, "y": 0.0, "z": 0.3, "yaw": 1.0}, None)
        assert said(turned) == ("rejected", "out_of_range")
        board.speed = 10.0
        move = Calling(rig, "move_to", {"x": 1.4, "y": 0.5, "z": 0.3, "yaw": 0.0})
        assert wait_until(lambda: board.moving)
        time.sleep(0.2)
        assert rig.client.estop() is StopOutcome.CONFIRMED
        assert said(move.result()) == ("fault", "stopped")
        assert not board.moving and 60.0 < board.at[0] < 100.0
        rig.client.reset()
        assert said(rig.call("home", {}, None)) == ("rejected", "safety_locked")


def test_it_tells_the_truth_on_a_disturbed_line(tmp_path: Path) -> None:
    found = faults_found(served, lambda own, board: rig_file(own, "marlin-serial", board.url), tmp_path)
    assert all(one.verdict == "ok" for one in found), found


def test_a_move_that_goes_out_after_the_stop_is_stopped_too(board: Marlin, tmp_path: Path) -> None:
    rig = load_rig(str(rig_file(tmp_path, "marlin-serial", board.url)))
    assert rig.driver is not None
    file = load_driver(rig.driver)
    driver = MarlinDriver(board.url, resolve(file, rig.driver_options, rig.driver_tables))
    stop, send = Event(), driver._port.send

    def raced(line: str) -> None:
        if " G1 " in line:
            # The stop of another thread, between the look whether there was one and the move.
            stop.set()
            driver.stop()
        send(line)

    driver._port.send = raced  # type: ignore[method-assign]
    driver.unlock_safety()
    board.speed = 10.0
    try:
        assert driver.execute("move_to", {"x": 1.4, "y": 0.5, "z": 0.3, "yaw": 0.0}, stop).code == "stopped"
        assert driver.standing() and board.at[0] < 100.0
    finally:
        driver.close()
