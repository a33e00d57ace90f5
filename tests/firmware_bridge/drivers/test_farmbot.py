"""The FarmBot driver against a stand-in on a pty that does what the board does."""

import json
import re
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from bridge_rig import python_child, wait_until
from driver_rig import SHORT_WAIT, Calling, driven, rig_file, said
from standins.farmbot import FarmBot

from core_eval.cli.main import main
from core_eval.log import LogReader
from core_eval.rig import session as rig_session

pytestmark = pytest.mark.serial

PLANT_B = {"x": 3.5, "y": 12.5}


@pytest.fixture
def board() -> Iterator[FarmBot]:
    with FarmBot() as farmbot:
        assert isinstance(farmbot, FarmBot)
        yield farmbot


def after(board: FarmBot, mark: int) -> list[str]:
    """The lines that came after so many bytes."""
    return board.received[mark:].decode("latin-1").split("\n")


def commands(board: FarmBot) -> list[str]:
    """What came as lines, without the stops in front of them."""
    return [line.lstrip("E") for line in board.lines if line.lstrip("E")]


def test_a_task_runs_over_it_and_it_is_left_stopped(
    board: FarmBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rig = rig_file(tmp_path, "farmbot-serial", board.url)
    command = ["run", "--task", "water_one_plant", "--rig", str(rig), "--agent", "oracle", "--db", "log.db"]
    assert main([*command, "--json"]) == 0
    (episode,) = json.loads(capsys.readouterr().out)["episodes"]
    assert (episode["status"], episode["path_correctness"]) == ("completed", 1.0)
    assert board.moves == [(210.0, 750.0, 0.0)]
    assert board.pin_log[:2] == [(8, 1), (8, 0)] and board.pins[8] == 0
    assert wait_until(lambda: board.stopped)
    with LogReader(Path("log.db")) as reader:
        (row,) = reader.episodes()
        assert (row.simulated, row.guard, row.device) == (False, "block", "farm_rover")
        assert reader.steps(row.id)[1].result == {"x": 3.5, "y": 12.5, "yaw": 0.0}
        names = {sample.sensor for sample in reader.samples(row.id)}
        assert {"position.x", "position.y"} <= names


def test_no_byte_but_the_stop_stops_it(board: FarmBot, tmp_path: Path) -> None:
    with driven(rig_file(tmp_path, "farmbot-serial", board.url), "farm_rover") as rig:
        rig.call("unlock_safety_mode", {}, None)
        for x in (1e-7, 0.1 + 0.2, 19.999999999, 5):
            assert rig.call("move_to", {"x": float(x), "y": 1e-9}, None).status == "ok"
        rig.call("scan_plant", {"plant_id": "plant_E"}, None)
        rig.call("get_plant_pose", {"plant_id": "E"}, None)
        rig.call("water_plant", {"plant_id": "see E", "liters": 0.1}, None)
        before = list(board.stop_times)
    sent = board.received.decode()
    assert "e" not in sent
    assert all("E" not in line for line in commands(board)), board.lines
    assert len(before) == 1, "one at the start of the episode, and none by accident"
    assert all(len(line) < 64 for line in commands(board))


def test_it_is_confirmed_before_it_moves_and_asked_one_at_a_time(board: FarmBot, tmp_path: Path) -> None:
    with driven(rig_file(tmp_path, "farmbot-serial", board.url), "farm_rover") as rig:
        rig.call("unlock_safety_mode", {}, None)
        assert rig.call("move_to", PLANT_B, None).status == "ok"
        assert rig.call("sense_pose", {}, None).value == {"x": 3.5, "y": 12.5, "yaw": 0.0}
    sent = commands(board)
    assert sent[:2] == ["F83 Q1", "F22 P2 V1 Q2"]
    assert sent.index("F22 P2 V1 Q2") < next(i for i, line in enumerate(sent) if line.startswith("G00"))
    assert board.lost_input == 0
    ids = [int(line.rpartition("Q")[2]) for line in sent]
    assert ids == sorted(set(ids))


def test_the_stop_goes_out_in_mid_motion_and_nothing_after_it(board: FarmBot, tmp_path: Path) -> None:
    board.speed = 200.0
    with driven(rig_file(tmp_path, "farmbot-serial", board.url), "farm_rover") as rig:
        rig.call("unlock_safety_mode", {}, None)
        moving = Calling(rig, "move_to", {"x": 15.0, "y": 15.0})
        assert wait_until(lambda: board.position[0] > 0)
        mark = len(board.received)
        assert rig.client.estop()
        assert said(moving.result()) == ("fault", "stopped")
        assert wait_until(lambda: board.stopped)
        assert 0 < board.position[0] < 900
        # After the stop comes nothing but the question whether it was heard, and that moves nothing.
        assert board.received[mark:].startswith(b"E")
        assert all(re.fullmatch(r"E*(F42 P8 M0 Q\d+)?", line) for line in after(board, mark))
        assert said(rig.call("sense_pose", {}, None)) == ("rejected", "estop")
        assert rig.client.reset()
        assert wait_until(lambda: not board.stopped)
        assert said(rig.call("move_to", PLANT_B, None)) == ("rejected", "safety_locked")
        rig.call("unlock_safety_mode", {}, None)
        board.speed = 8000.0
        assert rig.call("move_to", PLANT_B, None).status == "ok"


def test_the_stop_closes_the_valve(board: FarmBot, tmp_path: Path) -> None:
    with driven(rig_file(tmp_path, "farmbot-serial", board.url, flow=0.1), "farm_rover") as rig:
        rig.call("unlock_safety_mode", {}, None)
        rig.call("move_to", PLANT_B, None)
        watering = Calling(rig, "water_plant", {"plant_id": "plant_B", "liters": 4.5})
        assert wait_until(lambda: board.pins.get(8) == 1)
        rig.client.estop()
        assert said(watering.result()) == ("fault", "stopped")
        assert wait_until(lambda: board.pins[8] == 0)


def test_failures_become_rejected_or_fault(board: FarmBot, tmp_path: Path) -> None:
    with driven(rig_file(tmp_path, "farmbot-serial", board.url), "farm_rover") as rig:
        assert said(rig.call("move_to", PLANT_B, None)) == ("rejected", "safety_locked")
        rig.call("unlock_safety_mode", {}, None)
        assert said(rig.call("harvest_fruit", {"plant_id": "plant_B"}, None)) == ("rejected", "not_fitted")
        assert said(rig.call("move_to", {"x": 20.5, "y": 1.0}, None)) == ("rejected", "out_of_range")
        far = {"plant_id": "plant_D", "liters": 1.0}
        assert said(rig.call("water_plant", far, None)) == ("rejected", "out_of_reach")
        board.stall_next = 3
        assert said(rig.call("move_to", PLANT_B, None)) == ("fault", "axis_stalled")
        assert rig.call("move_to", PLANT_B, None).status == "ok"
        board.stuck_pins.add(8)
        near = {"plant_id": "plant_B", "liters": 1.0}
        assert said(rig.call("water_plant", near, None)) == ("fault", "stuck_open")
        board.parameters[2] = 0
        assert said(rig.call("move_to", PLANT_B, None)) == ("rejected", "no_config")
        assert rig.call("fly", {}, None).status == "invalid"
        assert rig.call("move_to", {"x": "far"}, None).status == "invalid"
        # Tried three times by the firmware itself, and then once.
        assert board.moves == [(210.0, 750.0, 0.0)] * 4


def test_an_answer_that_is_cut_is_a_fault_and_stops_the_machine(board: FarmBot, tmp_path: Path) -> None:
    with driven(
        rig_file(tmp_path, "farmbot-serial", board.url, **SHORT_WAIT, move_seconds=1.0), "farm_rover"
    ) as rig:
        rig.call("unlock_safety_mode", {}, None)
        mark = len(board.received)
        board.cut_lines = 30
        assert said(rig.call("move_to", PLANT_B, None)) == ("fault", "no_answer")
        board.cut_lines = 0
        # The move was sent once: what may have been done is never sent again.
        assert board.received[mark:].count(b"G00") == 1
        assert wait_until(lambda: board.stopped)
        assert said(rig.call("move_to", PLANT_B, None)) == ("rejected", "safety_locked")
        rig.call("unlock_safety_mode", {}, None)
        assert rig.call("move_to", PLANT_B, None).status == "ok"


def test_a_board_that_starts_anew_is_confirmed_anew(board: FarmBot, tmp_path: Path) -> None:
    board.speed = 400.0
    with driven(rig_file(tmp_path, "farmbot-serial", board.url), "farm_rover") as rig:
        rig.call("unlock_safety_mode", {}, None)
        board.reboot_next = True
        assert said(rig.call("move_to", PLANT_B, None)) == ("fault", "device_reset")
        board.speed = 8000.0
        rig.call("unlock_safety_mode", {}, None)
        assert rig.call("move_to", PLANT_B, None).status == "ok"
        assert board.confirmed and board.received.count(b"F22 P2 V1") == 2


def test_a_cable_that_is_out_is_a_fault_and_then_a_lost_link(
    board: FarmBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    board.speed = 300.0
    calls = [("unlock_safety_mode", {}), ("move_to", PLANT_B), ("move_to", PLANT_B), ("sense_pose", {})]
    Path("calls.jsonl").write_text("".join(json.dumps({"name": n, "arguments": a}) + "\n" for n, a in calls))
    rig = rig_file(tmp_path, "farmbot-serial", board.url)
    unplugger = unplug_in_motion(board)
    command = ["run", "--task", "water_one_plant", "--rig", str(rig), "--agent", "scripted:calls.jsonl"]
    monkeypatch.setattr(rig_session, "LINK_BACK_SECONDS", 0.5)
    assert main([*command, "--guard", "observe", "--db", "log.db", "--json"]) == 3
    unplugger.join()
    (episode,) = json.loads(capsys.readouterr().out)["episodes"]
    assert episode["status"] == "error" and "the link is lost" in episode["error"]
    with LogReader(Path("log.db")) as reader:
        steps = reader.steps(1)
    assert [(step.status, step.error_code) for step in steps] == [("ok", None), ("fault", "link")]


def unplug_in_motion(board: FarmBot) -> threading.Thread:
    def wait_and_pull() -> None:
        wait_until(lambda: board.position[1] > 0)
        board.unplug()

    thread = threading.Thread(target=wait_and_pull)
    thread.start()
    return thread


def test_the_stop_is_sent_when_the_program_is_killed(board: FarmBot, tmp_path: Path) -> None:
    board.speed = 100.0
    rig = rig_file(tmp_path, "farmbot-serial", board.url)
    code = """
import sys
import threading
from configs.rigs_loader import load_rig
from core_eval.rig.opening import open_rig
with open_rig(load_rig(sys.argv[1])) as session:
    session.initialise("farm_rover", {}, 0, required=False)
    session.call("unlock_safety_mode", {}, None)
    session.call("move_to", {"x": 15.0, "y": 15.0}, None)
"""
    with python_child(code, str(rig)) as child:
        assert wait_until(lambda: board.position[0] > 0), sys.path
        stops = len(board.stop_times)
        child.kill()
        child.wait()
        assert wait_until(lambda: len(board.stop_times) > stops)
        assert wait_until(lambda: board.stopped) and board.position[0] < 900


def test_the_stop_is_sent_when_a_signal_ends_a_run(board: FarmBot, tmp_path: Path) -> None:
    board.speed = 100.0
    rig = rig_file(tmp_path, "farmbot-serial", board.url, **SHORT_WAIT)
    code = "import sys; from core_eval.cli.main import main; sys.exit(main(sys.argv[1:]))"
    command = ["run", "--task", "water_one_plant", "--rig", str(rig), "--agent", "oracle"]
    with python_child(code, *command, "--db", str(tmp_path / "log.db")) as child:
        assert wait_until(lambda: board.position[0] > 0)
        stops = len(board.stop_times)
        child.send_signal(signal.SIGTERM)
        assert child.wait(60) == 128 + signal.SIGTERM
        assert wait_until(lambda: len(board.stop_times) > stops)
        assert board.position[1] < 750
    with LogReader(tmp_path / "log.db") as reader:
        assert [episode.status for episode in reader.episodes()] == ["interrupted"]


def test_a_rig_that_is_only_looked_at_is_not_stopped(
    board: FarmBot, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rig = str(rig_file(tmp_path, "farmbot-serial", board.url))
    assert main(["rigs", "check", rig, "--look"]) == 0
    assert "farm_rover, driver farmbot-serial" in capsys.readouterr().out.replace("firmware ", "")
    assert board.stop_times == []


def test_a_full_check_moves_nothing_and_passes(
    board: FarmBot, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rigs", "check", str(rig_file(tmp_path, "farmbot-serial", board.url))]) == 0
    assert "3 not fitted" in capsys.readouterr().out
    assert wait_until(lambda: board.stopped)
    assert board.moves == [] and board.pin_log == []


def test_a_port_that_says_nothing_is_named(
    board: FarmBot, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    board.mute = True
    assert main(["rigs", "check", str(rig_file(tmp_path, "farmbot-serial", board.url, **SHORT_WAIT))]) == 3
    said_so = capsys.readouterr().err
    assert board.path in said_so and "does not answer as farmbot-serial does" in said_so
