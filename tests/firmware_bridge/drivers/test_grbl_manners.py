"""What GRBL does besides answering: alarms, deafness, buttons, homing, settings; as its sources have it."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bridge_rig import wait_until
from driver_rig import Calling, driven, rig_file, said
from standins.grbl import Grbl

from core_eval.cli.main import main
from core_eval.rig.session import RigSession

pytestmark = pytest.mark.serial

THERE = {"x": 0.3, "y": 0.2, "z": 0.1}
FAR = {"x": 0.9, "y": 0.2, "z": 0.1}


@pytest.fixture
def board() -> Iterator[Grbl]:
    with Grbl(travel=200.0) as grbl:
        assert isinstance(grbl, Grbl)
        yield grbl


@pytest.fixture
def rig(board: Grbl, tmp_path: Path) -> Iterator[RigSession]:
    with driven(rig_file(tmp_path, "grbl-serial", board.url), "robotic_arm") as session:
        session.call("unlock_safety", {}, None)
        yield session


def moving(board: Grbl, rig: RigSession, speed: float = 10.0) -> Calling:
    board.speed = speed
    calling = Calling(rig, "move_to", FAR)
    assert wait_until(lambda: board.position[0] < -0.1)
    return calling


def test_the_reset_after_a_limit_waits_for_the_machine_to_hear_again(board: Grbl, rig: RigSession) -> None:
    lost = board.lost_resets
    assert said(rig.call("move_to", {**THERE, "x": 4.0}, None)) == ("rejected", "out_of_range")
    assert board.lost_resets == lost
    assert rig.call("move_to", THERE, None).status == "ok"
    board.hard_limit_next = True
    assert said(rig.call("move_to", FAR, None)) == ("fault", "hard_limit")
    assert board.lost_resets == lost and board.state == "Alarm"


def test_a_stop_while_the_machine_is_deaf_still_resets_it(board: Grbl, rig: RigSession) -> None:
    calling = moving(board, rig)
    board.hard_limit_next = True
    assert wait_until(lambda: board.state == "Alarm")
    resets = board.resets
    assert rig.client.estop()
    assert said(calling.result()) in (("fault", "stopped"), ("fault", "hard_limit"))
    assert wait_until(lambda: board.resets > resets)
    board.speed = 6000.0
    assert rig.client.reset()
    rig.call("unlock_safety", {}, None)
    assert rig.call("move_to", THERE, None).status == "ok"


def test_an_ok_that_belongs_to_a_reset_ends_no_move(board: Grbl, rig: RigSession) -> None:
    """A hold, then a reset, by the machine's own buttons: no alarm, but an ok for the line broken off."""
    calling = moving(board, rig)
    board.byte_came(ord("!"))
    assert wait_until(lambda: board.state == "Hold" and not board._slowing)
    board.byte_came(0x18)
    assert said(calling.result()) == ("fault", "device_reset")
    board.speed = 6000.0
    rig.call("unlock_safety", {}, None)
    assert rig.call("move_to", THERE, None).status == "ok"


def test_a_reset_button_in_mid_motion_locks_the_machine(board: Grbl, rig: RigSession) -> None:
    calling = moving(board, rig)
    board.byte_came(0x18)
    assert said(calling.result()) == ("fault", "alarm_3")
    board.speed = 6000.0
    # The banner of that reset is over: it spoils no later call.
    assert said(rig.call("move_to", THERE, None)) == ("rejected", "alarm_lock")
    rig.call("unlock_safety", {}, None)
    assert rig.call("move_to", THERE, None).status == "ok"


def test_homing_that_fails_says_why_and_locks(tmp_path: Path) -> None:
    with (
        Grbl(homing=True) as board,
        driven(rig_file(tmp_path, "grbl-serial", board.url, homing=True), "robotic_arm") as rig,
    ):
        assert isinstance(board, Grbl)
        board.homing_fails = True
        rig.call("unlock_safety", {}, None)
        assert said(rig.call("home", {}, None)) == ("fault", "alarm_9")
        assert said(rig.call("move_to", THERE, None)) == ("rejected", "alarm_lock")


def test_a_machine_that_homes_is_reset_by_the_stop_as_it_obeys_nothing_else(tmp_path: Path) -> None:
    with (
        Grbl(homing=True) as board,
        driven(rig_file(tmp_path, "grbl-serial", board.url, homing=True), "robotic_arm") as rig,
    ):
        assert isinstance(board, Grbl)
        board.homing_seconds = 60.0
        rig.call("unlock_safety", {}, None)
        calling = Calling(rig, "home", {})
        assert wait_until(lambda: board.state == "Home")
        assert rig.client.estop()
        assert said(calling.result()) == ("fault", "stopped")
        assert board.state == "Alarm"
        assert rig.client.reset()
        board.homing_seconds = 0.1
        rig.call("unlock_safety", {}, None)
        assert rig.call("home", {}, None).status == "ok"


def test_check_mode_moves_nothing_and_is_said(board: Grbl, rig: RigSession) -> None:
    board.state = "Check"
    assert said(rig.call("move_to", THERE, None)) == ("fault", "check_mode")
    assert board.targets == []


@pytest.mark.parametrize(
    ("setting", "value", "advice"),
    [(10, "0", "Set $10=1."), (10, "2", "Set $10=1."), (13, "1", "Set $13=0.")],
)
def test_positions_that_would_be_misread_are_refused_at_the_start(
    setting: int, value: str, advice: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Grbl() as board:
        assert isinstance(board, Grbl)
        board.settings[setting] = value
        assert main(["rigs", "check", str(rig_file(tmp_path, "grbl-serial", board.url))]) == 3
        assert advice in capsys.readouterr().err


def test_a_machine_that_still_moves_is_held_before_it_is_taken_over(board: Grbl, tmp_path: Path) -> None:
    board.speed = 10.0
    assert wait_until(lambda: not board._banner)
    board.input.extend(b"G90G21G53G1X-90Y-80Z-50F500\n")
    assert wait_until(lambda: board.position[0] < -0.1)
    with driven(rig_file(tmp_path, "grbl-serial", board.url), "robotic_arm") as rig:
        assert board.holds and board.state == "Idle", "no alarm: no steps were lost"
        assert board.position[0] > -80
        board.speed = 6000.0
        rig.call("unlock_safety", {}, None)
        assert rig.call("move_to", THERE, None).status == "ok"


def test_a_start_up_line_of_the_machine_and_its_first_start_are_no_answers(tmp_path: Path) -> None:
    with Grbl() as board:
        assert isinstance(board, Grbl)
        board.startup_line = "G54G20"
        with driven(rig_file(tmp_path, "grbl-serial", board.url), "robotic_arm") as rig:
            rig.call("unlock_safety", {}, None)
            assert rig.call("move_to", THERE, None).status == "ok"


def test_nothing_overflows_the_buffers_of_the_machine(board: Grbl, rig: RigSession) -> None:
    for name in ("box_small", "cup"):
        assert rig.call("pick", {"object_id": name}, None).status == "ok"
        assert rig.call("place", {"x": 0.35, "y": 0.6, "z": 0.025, "yaw": 0.0}, None).status == "ok"
    rig.call("move_to", {"x": 1e-9, "y": -0.123456789, "z": 0.333333333}, None)
    assert board.lost_input == 0
    assert all(len(line) < 80 for line in board.lines)


def test_a_slow_line_is_no_trouble(board: Grbl, rig: RigSession) -> None:
    """Some 60 ms from the board to its host, as over a radio."""
    say = board.say
    later: list[threading.Timer] = []

    def late(line: str) -> None:
        timer = threading.Timer(0.06, say, (line,))
        later.append(timer)
        timer.start()

    board.say = late  # type: ignore[method-assign]
    assert rig.call("move_to", THERE, None).value == {**THERE, "yaw": 0.0}
    time.sleep(0.1)
    board.say = say  # type: ignore[method-assign]
    for timer in later:
        timer.join()
