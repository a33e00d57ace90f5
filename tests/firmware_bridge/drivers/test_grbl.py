"""The GRBL driver against a stand-in on a pty that does what the board does."""

import contextlib
import json
import os
import select
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from bridge_rig import python_child, wait_until
from driver_rig import Calling, driven, rig_file, said
from standins.grbl import Grbl

from core_eval.cli.main import main
from core_eval.log import LogReader

pytestmark = pytest.mark.serial

THERE = {"x": 0.3, "y": 0.2, "z": 0.1}
FAR = {"x": 0.9, "y": 0.2, "z": 0.1}
KILLED = """
import sys
from configs.rigs_loader import load_rig
from core_eval.rig.opening import open_rig
with open_rig(load_rig(sys.argv[1])) as session:
    session.initialise("robotic_arm", {}, 0, required=False)
    session.call("unlock_safety", {}, None)
    session.call("move_to", {"x": 0.9, "y": 0.2, "z": 0.1}, None)
"""


@pytest.fixture
def board() -> Iterator[Grbl]:
    with Grbl(travel=200.0) as grbl:
        assert isinstance(grbl, Grbl)
        yield grbl


def test_a_task_runs_over_it_and_it_is_left_stopped(
    board: Grbl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rig = rig_file(tmp_path, "grbl-serial", board.url)
    command = ["run", "--task", "box_to_left_bin", "--rig", str(rig), "--agent", "oracle", "--db", "log.db"]
    assert main([*command, "--json"]) == 0
    (episode,) = json.loads(capsys.readouterr().out)["episodes"]
    assert (episode["status"], episode["path_correctness"]) == ("completed", 1.0)
    grip, let_go = (-50.0, -80.0, -58.0), (-65.0, -40.0, -57.5)
    assert board.targets.index(grip) < board.targets.index(let_go)
    assert board.spindle_log == [1000.0, 0.0]
    assert wait_until(lambda: board.received.rstrip(b"?").endswith(b"\x18"))
    assert board.holds and board.resets >= 2
    with LogReader(Path("log.db")) as reader:
        (row,) = reader.episodes()
        assert (row.simulated, row.guard) == (False, "block")
        assert any(sample.sensor == "machine" for sample in reader.samples(row.id))


def test_lines_hold_no_real_time_bytes(board: Grbl, tmp_path: Path) -> None:
    with driven(rig_file(tmp_path, "grbl-serial", board.url), "robotic_arm") as rig:
        rig.call("unlock_safety", {}, None)
        holds, resets = len(board.holds), board.resets
        rig.call("get_object_pose", {"object_id": "!?~\x18"}, None)
        rig.call("pick", {"object_id": "!\x18"}, None)
        assert rig.call("move_to", {"x": 1e-9, "y": 0.1 + 0.2, "z": 1e-12}, None).status == "ok"
        lines = board.received.decode("latin-1").translate({ord(c): None for c in "?!\x18"}).split("\n")
        assert "G90 G21 G53 G1 X-100.000 Y-70.000 Z-60.000 F500" in lines
        assert (len(board.holds), board.resets) == (holds, resets), "none by accident"
        assert board.lost_input == 0


def test_the_stop_holds_at_once_and_loses_no_steps(board: Grbl, tmp_path: Path) -> None:
    board.speed = 10.0
    with driven(rig_file(tmp_path, "grbl-serial", board.url), "robotic_arm") as rig:
        rig.call("unlock_safety", {}, None)
        moving = Calling(rig, "move_to", FAR)
        assert wait_until(lambda: board.position[0] < -0.5)
        holds, mark = len(board.holds), len(board.received)
        assert rig.client.estop()
        assert said(moving.result()) == ("fault", "stopped")
        assert len(board.holds) > holds
        # The hold is the first thing that goes out, and no command comes after it.
        assert board.received[mark:].lstrip(b"?").startswith(b"!")
        assert set(board.received[mark:]) <= set(b"?!\x18")
        assert board.state == "Idle" and -10 < board.position[0] < -0.5, "held first, so no alarm"
        assert said(rig.call("sense_pose", {}, None)) == ("rejected", "estop")
        assert rig.client.reset()
        board.speed = 6000.0
        rig.call("unlock_safety", {}, None)
        assert rig.call("move_to", THERE, None).status == "ok"


def test_failures_become_rejected_or_fault(board: Grbl, tmp_path: Path) -> None:
    with driven(rig_file(tmp_path, "grbl-serial", board.url), "robotic_arm") as rig:
        assert said(rig.call("move_to", THERE, None)) == ("rejected", "safety_locked")
        rig.call("unlock_safety", {}, None)
        assert said(rig.call("move_to", {**THERE, "x": 4.0}, None)) == ("rejected", "out_of_range")
        assert rig.call("move_to", THERE, None).value == {**THERE, "yaw": 0.0}
        assert said(rig.call("move_to", {**THERE, "yaw": 1.0}, None)) == ("rejected", "out_of_range")
        assert said(rig.call("place", THERE, None)) == ("rejected", "hand_empty")
        assert said(rig.call("pick", {"object_id": "moon"}, None)) == ("rejected", "unknown_name")
        board.hard_limit_next = True
        assert said(rig.call("move_to", FAR, None)) == ("fault", "hard_limit")
        assert said(rig.call("move_to", THERE, None)) == ("rejected", "alarm_lock")
        assert rig.call("unlock_safety", {}, None).status == "ok"
        assert rig.call("move_to", THERE, None).status == "ok"


def test_a_machine_locked_by_its_alarm_is_unlocked_by_the_tool_alone(tmp_path: Path) -> None:
    with (
        Grbl(locked=True) as board,
        driven(rig_file(tmp_path, "grbl-serial", board.url), "robotic_arm") as rig,
    ):
        assert isinstance(board, Grbl)
        assert board.state == "Alarm" and b"$X" not in board.received
        assert rig.call("sense_pose", {}, None).status == "ok"
        assert rig.call("unlock_safety", {}, None).status == "ok"
        assert board.state == "Idle"


def test_homing_is_a_command_where_the_machine_has_switches(tmp_path: Path) -> None:
    with (
        Grbl(homing=True) as board,
        driven(rig_file(tmp_path, "grbl-serial", board.url, homing=True), "robotic_arm") as rig,
    ):
        rig.call("unlock_safety", {}, None)
        assert rig.call("home", {}, None).value == {"x": 0.4, "y": 0.0, "z": 0.4, "yaw": 0.0}
        assert "$H" in board.lines


class GreetsLate(Grbl):
    """The banner of a reset comes when the host has its answer already and sends its first command."""

    late = 1

    def _system(self, line: str) -> None:
        if line == "$$" and self.late:
            self.late -= 1
            self._greet()
        super()._system(line)


@pytest.mark.parametrize("late", [1, 2])
def test_a_machine_that_starts_anew_in_mid_start_is_started_again(late: int, tmp_path: Path) -> None:
    with GreetsLate(travel=200.0) as board:
        board.late = late
        with driven(rig_file(tmp_path, "grbl-serial", board.url), "robotic_arm") as rig:
            assert said(rig.call("unlock_safety", {}, None)) == ("ok", None)
            assert rig.call("move_to", THERE, None).status == "ok"
            assert rig.call("sense_pose", {}, None).value == {**THERE, "yaw": 0.0}


def test_an_answer_that_is_cut_is_a_fault_and_the_machine_is_held(board: Grbl, tmp_path: Path) -> None:
    with driven(rig_file(tmp_path, "grbl-serial", board.url), "robotic_arm") as rig:
        rig.call("unlock_safety", {}, None)
        holds = len(board.holds)
        board.cut_lines = 1000
        assert said(rig.call("sense_pose", {}, None)) == ("fault", "no_answer")
        board.cut_lines = 0
        assert wait_until(lambda: len(board.holds) > holds)
        # It may have been mute for the whole of its stop: then the next call says that the link is down.
        assert wait_until(lambda: said(rig.call("unlock_safety", {}, None)) == ("ok", None))
        assert rig.call("move_to", THERE, None).status == "ok"


def test_a_cable_that_is_out_gives_fault_steps(board: Grbl, tmp_path: Path) -> None:
    board.speed = 10.0
    with driven(rig_file(tmp_path, "grbl-serial", board.url), "robotic_arm") as rig:
        rig.call("unlock_safety", {}, None)
        moving = Calling(rig, "move_to", FAR)
        assert wait_until(lambda: board.position[0] < 0)
        board.unplug()
        assert said(moving.result()) == ("fault", "link")
        assert said(rig.call("sense_pose", {}, None)) == ("fault", "link")


def test_a_cable_that_is_in_again_goes_on(tmp_path: Path) -> None:
    port = tmp_path / "port"
    with Grbl() as board:
        port.symlink_to(board.path)
        path = rig_file(tmp_path, "grbl-serial", f"serial://{port}")
        with driven(path, "robotic_arm") as rig:
            rig.call("unlock_safety", {}, None)
            board.unplug()
            assert said(rig.call("sense_pose", {}, None)) == ("fault", "link")
            port.unlink()
            with Grbl(banner=False) as again:
                assert isinstance(again, Grbl)
                port.symlink_to(again.path)
                assert rig.call("sense_pose", {}, None).status == "ok"
                assert again.received.startswith(b"!"), "a machine that may still move is stopped first"
                assert said(rig.call("move_to", THERE, None)) == ("rejected", "safety_locked")
                rig.call("unlock_safety", {}, None)
                assert rig.call("move_to", THERE, None).status == "ok"
                port.unlink()


def test_the_hold_is_sent_when_the_program_is_killed(board: Grbl, tmp_path: Path) -> None:
    board.speed = 5.0
    rig = rig_file(tmp_path, "grbl-serial", board.url)
    with python_child(KILLED, str(rig)) as child:
        assert wait_until(lambda: board.position[0] < 0)
        held = board.received.count(b"!")
        child.kill()
        child.wait()
        # Held, and reset once it stands.
        assert wait_until(lambda: board.received.count(b"!") > held and board.state != "Run")
        assert board.position[0] > -10


def test_a_machine_behind_a_network_is_driven_too(board: Grbl, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        relay = threading.Thread(target=relay_bytes, args=(server, board.path))
        relay.start()
        path = rig_file(tmp_path, "grbl-serial", f"socket://127.0.0.1:{port}")
        with driven(path, "robotic_arm") as rig:
            rig.call("unlock_safety", {}, None)
            assert rig.call("move_to", THERE, None).status == "ok"
        relay.join(25)
        assert not relay.is_alive()
        assert wait_until(lambda: board.received.endswith(b"\x18"))


def test_the_hold_is_sent_through_the_network_too_when_the_program_is_killed(
    board: Grbl, tmp_path: Path
) -> None:
    board.speed = 5.0
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"socket://127.0.0.1:{server.getsockname()[1]}"
        relay = threading.Thread(target=relay_bytes, args=(server, board.path))
        relay.start()
        with python_child(KILLED, str(rig_file(tmp_path, "grbl-serial", url))) as child:
            assert wait_until(lambda: board.position[0] < 0)
            held = board.received.count(b"!")
            child.kill()
            child.wait()
            assert wait_until(lambda: board.received.count(b"!") > held and board.state != "Run")
        relay.join(25)
        assert not relay.is_alive()


def relay_bytes(server: socket.socket, path: str) -> None:
    """One connection, to and from a serial port, until its client hangs up."""
    client, _ = server.accept()
    fd = os.open(path, os.O_RDWR | os.O_NOCTTY)
    # What the board says after its host has hung up has nowhere to go.
    with client, contextlib.suppress(BrokenPipeError, ConnectionResetError):
        while True:
            readable, _, _ = select.select([client, fd], [], [], 5)
            if fd in readable:
                client.sendall(os.read(fd, 4096))
            if client in readable:
                data = client.recv(4096)
                if not data:
                    break
                os.write(fd, data)
    os.close(fd)
