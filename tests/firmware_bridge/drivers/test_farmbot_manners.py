"""Where FarmBot's firmware is deaf, changes a target, or is met in the middle of something."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bridge_rig import python_child, wait_until
from driver_rig import Calling, driven, rig_file, said
from standins.farmbot import FarmBot

from configs.errors import ConfigError
from configs.rigs_loader import load_rig
from core_eval.rig.session import RigSession

pytestmark = pytest.mark.serial

PLANT_B = {"x": 3.5, "y": 12.5}
THERE = [210.0, 750.0, 0.0]


@pytest.fixture
def board() -> Iterator[FarmBot]:
    with FarmBot() as farmbot:
        assert isinstance(farmbot, FarmBot)
        yield farmbot


@pytest.fixture
def rig(board: FarmBot, tmp_path: Path) -> Iterator[RigSession]:
    with driven(rig_file(tmp_path, "farmbot-serial", board.url), "farm_rover") as session:
        session.call("unlock_safety_mode", {}, None)
        yield session


def test_a_stop_that_the_firmware_throws_away_is_sent_again(board: FarmBot, rig: RigSession) -> None:
    board.motor_seconds = 0.2
    moving = Calling(rig, "move_to", PLANT_B)
    assert wait_until(lambda: board.position == THERE)
    assert rig.client.estop()
    assert board.swallowed_stops >= 1, "it came while the motors were switched off"
    assert board.stopped
    assert said(moving.result()) == ("fault", "stopped")
    assert rig.client.reset()
    assert not board.stopped


def test_a_program_that_is_killed_while_the_firmware_is_deaf_is_heard_later(
    board: FarmBot, tmp_path: Path
) -> None:
    board.motor_seconds = 0.2
    code = """
import sys
from configs.rigs_loader import load_rig
from core_eval.rig.opening import open_rig
with open_rig(load_rig(sys.argv[1])) as session:
    session.initialise("farm_rover", {}, 0, required=False)
    session.call("unlock_safety_mode", {}, None)
    session.call("move_to", {"x": 3.5, "y": 12.5}, None)
"""
    with python_child(code, str(rig_file(tmp_path, "farmbot-serial", board.url))) as child:
        assert wait_until(lambda: board.position == THERE)
        child.kill()
        child.wait()
        assert wait_until(lambda: board.stopped)


def test_a_target_beyond_the_end_of_an_axis_is_a_fault_once_the_machine_stands(
    board: FarmBot, rig: RigSession
) -> None:
    board.length = 300.0
    assert said(rig.call("move_to", PLANT_B, None)) == ("fault", "target_changed")
    # It was waited for: the next command is not thrown away.
    assert rig.call("sense_pose", {}, None).value == {"x": 3.5, "y": 5.0, "yaw": 0.0}
    assert not board.stopped


def test_a_valve_that_stays_open_is_told_once_the_reading_is_over(board: FarmBot, rig: RigSession) -> None:
    assert rig.call("move_to", PLANT_B, None).status == "ok"
    board.stuck_pins.add(8)
    assert said(rig.call("water_plant", {"plant_id": "plant_B", "liters": 0.1}, None)) == (
        "fault",
        "stuck_open",
    )
    assert rig.call("sense_pose", {}, None).status == "ok"


@pytest.mark.parametrize("option", ["water_pin", "spray_pin"])
def test_a_pin_that_the_firmware_would_not_write_is_refused(option: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="52"):
        load_rig(str(rig_file(tmp_path, "farmbot-serial", "serial:///dev/null", **{option: 59})))


def test_half_a_line_of_somebody_else_spoils_nothing(board: FarmBot, tmp_path: Path) -> None:
    board.input.extend(b"G00 X90")
    with driven(rig_file(tmp_path, "farmbot-serial", board.url), "farm_rover") as rig:
        rig.call("unlock_safety_mode", {}, None)
        assert rig.call("move_to", PLANT_B, None).status == "ok"
        assert board.moves == [tuple(THERE)]


def test_each_line_fits_into_the_input_of_the_board_and_is_answered_first(
    board: FarmBot, rig: RigSession
) -> None:
    for x in (19.999999, 1e-9, 7.123456789):
        assert rig.call("move_to", {"x": x, "y": 19.87654321}, None).status == "ok"
    rig.call("move_home", {}, None)
    assert board.lost_input == 0 and board.swallowed_stops == 0
    assert all(len(line) < board.baud_bytes for line in board.lines)


def test_a_board_without_words_of_its_own_for_seconds_is_waked(tmp_path: Path) -> None:
    """The oldest boards report only after five idle seconds."""
    with FarmBot(chatter=False, report_every=60.0) as board:
        assert isinstance(board, FarmBot)
        with driven(rig_file(tmp_path, "farmbot-serial", board.url), "farm_rover") as rig:
            rig.call("unlock_safety_mode", {}, None)
            assert rig.call("move_to", PLANT_B, None).status == "ok"
        assert any(line.lstrip("E").startswith("F83") for line in board.lines)


def test_a_cable_that_was_out_while_it_watered_is_followed_by_a_stop(board: FarmBot, tmp_path: Path) -> None:
    port = tmp_path / "port"
    port.symlink_to(board.path)
    path = rig_file(tmp_path, "farmbot-serial", f"serial://{port}", flow=0.01)
    with driven(path, "farm_rover") as rig:
        rig.call("unlock_safety_mode", {}, None)
        rig.call("move_to", PLANT_B, None)
        watering = Calling(rig, "water_plant", {"plant_id": "plant_B", "liters": 0.5})
        assert wait_until(lambda: board.pins.get(8) == 1)
        board.unplug()
        assert said(watering.result()) == ("fault", "link")
        port.unlink()
        with FarmBot(chatter=False) as again:
            assert isinstance(again, FarmBot)
            again.pins[8], again.parameters[2] = 1, 1
            again._written.add(8)
            port.symlink_to(again.path)
            began = time.monotonic()
            assert rig.call("sense_pose", {}, None).status == "ok"
            assert again.pins[8] == 0 and again.stop_times[0] >= began
            assert said(rig.call("move_to", PLANT_B, None)) == ("rejected", "safety_locked")
            port.unlink()


def test_no_valve_opens_while_its_guards_are_set(board: FarmBot, tmp_path: Path) -> None:
    board.guard_every = 0.0
    with driven(rig_file(tmp_path, "farmbot-serial", board.url), "farm_rover"):
        assert [board.parameters[number] for number in (201, 203, 205, 207)] == [8, 1, 10, 1]
    assert not board.pin_log


def test_the_board_itself_closes_a_valve_that_nobody_closes(board: FarmBot, tmp_path: Path) -> None:
    path = rig_file(tmp_path, "farmbot-serial", board.url, pin_guard_seconds=1, flow=0.5)
    with driven(path, "farm_rover") as rig:
        assert [board.parameters[number] for number in (201, 202, 203, 205, 206, 207)] == [8, 1, 1, 10, 1, 1]
        rig.call("unlock_safety_mode", {}, None)
        rig.call("move_to", PLANT_B, None)
        too_long = rig.call("water_plant", {"plant_id": "plant_B", "liters": 0.6}, None)
        assert said(too_long) == ("rejected", "out_of_range")
        assert "it takes values up to 0.5" in str(too_long.message), "in litres, as it was asked for"
        assert not board.pin_log
        # Nobody who drives it any more: the line comes from nowhere.
        board.input.extend(b"F41 P8 V1 M0\n")
        assert wait_until(lambda: board.pin_log == [(8, 1), (8, 0)])
        assert not board.stopped
