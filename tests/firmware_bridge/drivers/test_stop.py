"""What is known of a machine behind a driver after a stop: confirmed, sent, or not sent, to the last line."""

from __future__ import annotations

import json
import re
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pytest
from bridge_rig import Mosquitto, python_child, wait_until
from driver_rig import SHORT_WAIT, Calling, driven, new_name, rig_file, said
from standins.farmbot import FarmBot
from standins.grbl import Grbl
from standins.mqtt_nodes import EspHome, Tasmota, Zigbee2Mqtt
from standins.pty_board import PtyBoard

from configs.rigs_loader import load_rig
from core_eval.cli.main import main
from core_eval.rig import session as rig_session
from core_eval.rig.opening import open_rig
from devices.outcome import StopOutcome
from firmware_bridge.link import LinkError

pytestmark = [pytest.mark.broker, pytest.mark.serial, pytest.mark.stops]

PLANT_B = {"x": 3.5, "y": 12.5}
FAR = {"x": 15.0, "y": 15.0}
SCAN = """
tasks:
  - id: scan
    world: farm_rover
    prompt: Unlock the safety, and scan plant_A.
    plan: [unlock_safety_mode, {scan_plant: {plant_id: plant_A}}]
"""
PUMP = """
name: my-pump
description: a pump that does not listen to its stop
link: serial
device: farm_rover
memory: {safety: locked}
line: {baud: 115200, never_send: X}
boot: {seconds: 3, expect: ['^READY']}
answers: {done: ['^OK ${id}$'], seconds: 1}
stop: {send: X, remember: {safety: locked}}
tools:
  unlock_safety_mode:
    steps: [{set: {safety: unlocked}}]
    result: {safety: unlocked}
  lock_safety_mode:
    steps: [{set: {safety: locked}}]
    result: {safety: locked}
  scan_plant:
    steps: [{send: 'SOIL ${id}'}]
    result: {plant_id: {argument: plant_id}}
"""


class Pump(PtyBoard):
    """Says READY now and then, and OK to each line; the stop means nothing to it."""

    def byte_came(self, byte: int) -> bool:
        return byte != ord("X")

    def step(self) -> None:
        if not self.input:
            self.say("READY")
            time.sleep(0.05)
            return
        if 10 in self.input:
            line, _, rest = self.input.partition(b"\n")
            self.input[:] = rest
            self.say(f"OK {line.decode('latin-1').rpartition(' ')[2]}")


@pytest.fixture
def board() -> Iterator[FarmBot]:
    with FarmBot() as farmbot:
        assert isinstance(farmbot, FarmBot)
        yield farmbot


@pytest.fixture
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(rig_session, "LINK_BACK_SECONDS", 0.5)
    return tmp_path


def script(*calls: tuple[str, object]) -> str:
    lines = [json.dumps({"name": name, "arguments": arguments}) for name, arguments in calls]
    Path("calls.jsonl").write_text("\n".join(lines) + "\n")
    return "scripted:calls.jsonl"


def run(rig: Path, *calls: tuple[str, object], task: str = "water_one_plant") -> int:
    command = ["run", "--task", task, "--rig", str(rig), "--agent", script(*calls)]
    return main([*command, "--guard", "observe", "--db", "log.db", "--json"])


def logged_stops() -> tuple[str | None, list[str]]:
    """The episode's column, and the host's words among the statuses."""
    with sqlite3.connect("log.db") as log:
        (column,) = log.execute("SELECT stop FROM episode").fetchone()
        states = log.execute("SELECT state FROM rig_status WHERE source = 'host' AND state LIKE 'stop%'")
        return column, [state for (state,) in states]


def then(condition: Callable[[], bool], act: Callable[[], object]) -> Thread:
    def wait() -> None:
        assert wait_until(condition)
        act()

    thread = Thread(target=wait)
    thread.start()
    return thread


def test_a_stop_that_the_machine_answers_is_confirmed(
    board: FarmBot, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(rig_file(in_tmp, "farmbot-serial", board.url), ("unlock_safety_mode", {})) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["episodes"][0]["stop"] == "confirmed"
    assert logged_stops() == ("confirmed", ["stop confirmed"]) and printed.err == ""
    with sqlite3.connect("log.db") as log:
        sources = log.execute("SELECT DISTINCT source FROM rig_status").fetchall()
    # The board has no words of our wire: what the driver's endpoint says is the link's.
    assert {source for (source,) in sources} == {"host", "link"}


def test_a_cable_that_is_out_is_a_lost_link_and_no_safe_rig(
    board: FarmBot, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    board.speed = 300.0
    unplugger = then(lambda: board.position[1] > 0, board.unplug)
    calls = [("unlock_safety_mode", {}), ("move_to", PLANT_B), ("sense_pose", {})]
    assert run(rig_file(in_tmp, "farmbot-serial", board.url), *calls) == 3
    unplugger.join()
    printed = capsys.readouterr()
    episode = json.loads(printed.out)["episodes"][0]
    assert (episode["status"], episode["stop"]) == ("error", "not sent")
    assert logged_stops() == ("not sent", ["stop not sent"])
    first, last = printed.err.strip().splitlines()
    assert "the link is lost" in first
    assert "THE STOP WAS NOT SENT" in last and "IT MAY STILL MOVE" in last
    assert "is safe" not in printed.err


def test_a_board_that_does_not_answer_the_question_is_not_safe(
    board: FarmBot, in_tmp: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(rig_session, "LINK_BACK_SECONDS", 1.0)
    rig = rig_file(in_tmp, "farmbot-serial", board.url, **SHORT_WAIT, move_seconds=1.0)
    with open_rig(load_rig(str(rig))) as session:
        session.initialise("farm_rover", {}, 0, required=False)
        board.mute = True
        assert session.client.estop() is StopOutcome.SENT
        assert session.client.confirms_stop
        board.mute = False
    muted = then(lambda: len(board.moves) > 0, lambda: setattr(board, "mute", True))
    assert run(rig, ("unlock_safety_mode", {}), ("move_to", PLANT_B)) == 3
    muted.join()
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert "THE STOP WAS SENT, BUT NOT CONFIRMED" in last
    assert logged_stops() == ("sent", ["stop sent"])


def test_ctrl_c_with_the_cable_out_is_3_and_says_so(board: FarmBot, tmp_path: Path) -> None:
    board.speed = 100.0
    rig = rig_file(tmp_path, "farmbot-serial", board.url)
    code = """
import sys
sys.stderr = sys.stdout
from core_eval.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
    command = ["run", "--task", "water_one_plant", "--rig", str(rig), "--agent", "oracle"]
    with python_child(code, *command, "--db", str(tmp_path / "log.db")) as child:
        assert wait_until(lambda: board.position[0] > 0)
        board.unplug()
        time.sleep(0.4)
        child.send_signal(signal.SIGINT)
        assert child.wait(60) == 3
        assert child.stdout is not None
        lines = child.stdout.read().strip().splitlines()
    assert any("stopped by SIGINT; the log is readable" in line for line in lines)
    assert "THE STOP WAS NOT SENT" in lines[-1]


def test_a_driver_without_a_question_says_that_it_cannot_tell(
    in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (in_tmp / "my-pump.yaml").write_text(PUMP)
    with Pump() as pump:
        rig = in_tmp / "rig.yaml"
        rig.write_text(f"name: pump\nurl: {pump.url}\ndriver: my-pump.yaml\n")
        calls = ("unlock_safety_mode", {}), ("scan_plant", {"plant_id": "plant_A"})
        (in_tmp / "scan.yaml").write_text(SCAN)
        assert run(rig, *calls, task="scan.yaml") == 0
        printed = capsys.readouterr()
        assert json.loads(printed.out)["episodes"][0]["stop"] == "sent"
        assert printed.err == "pathrig: rig pump: stop sent; this driver cannot confirm it\n"
        assert logged_stops() == ("sent", ["stop sent"])
        assert main(["rigs", "check", str(rig)]) == 0
        checked = " ".join(capsys.readouterr().out.split())
        assert "sent; this driver cannot confirm it" in checked and "confirmed after" not in checked


def test_a_machine_whose_cable_is_back_is_stopped_first_though_no_call_follows(
    board: FarmBot, tmp_path: Path
) -> None:
    port = tmp_path / "port"
    port.symlink_to(board.path)
    board.speed = 100.0
    with driven(rig_file(tmp_path, "farmbot-serial", f"serial://{port}"), "farm_rover") as rig:
        rig.call("unlock_safety_mode", {}, None)
        moving = Calling(rig, "move_to", FAR)
        assert wait_until(lambda: board.position[0] > 0)
        board.unplug()
        assert said(moving.result()) == ("fault", "link")
        port.unlink()
        assert rig.client.estop() is StopOutcome.NOT_SENT
        with pytest.raises(LinkError):
            rig.client.reset()
        with FarmBot(chatter=False) as again:
            assert isinstance(again, FarmBot)
            again.parameters[2] = 1
            port.symlink_to(again.path)
            assert wait_until(lambda: again.stopped)
            assert again.received.startswith(b"E"), "nothing comes before the stop"
            rig.client.regain(5.0)
            assert rig.client.estop() is StopOutcome.CONFIRMED, rig.client.stop_error
            port.unlink()


def test_a_machine_whose_cable_comes_back_after_the_end_is_still_stopped(
    board: FarmBot, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    port = in_tmp / "port"
    port.symlink_to(board.path)
    board.speed = 300.0

    def pull() -> None:
        board.unplug()
        port.unlink()

    unplugger = then(lambda: board.position[1] > 0, pull)
    rig = rig_file(in_tmp, "farmbot-serial", f"serial://{port}")
    assert run(rig, ("unlock_safety_mode", {}), ("move_to", PLANT_B)) == 3
    unplugger.join()
    assert "IF THE LINK IS BACK WITHIN 60 S" in capsys.readouterr().err.strip().splitlines()[-1]
    with FarmBot(chatter=False) as again:
        assert isinstance(again, FarmBot)
        port.symlink_to(again.path)
        assert wait_until(lambda: again.stopped)
        # The stop, and whether it was heard.
        assert re.fullmatch(rb"E+(F42 P8 M0 Q\d+\n|E)*", bytes(again.received))
        port.unlink()


def test_a_program_that_is_killed_with_the_cable_out_still_stops_the_machine(
    board: FarmBot, tmp_path: Path
) -> None:
    port = tmp_path / "port"
    port.symlink_to(board.path)
    board.speed = 100.0
    rig = rig_file(tmp_path, "farmbot-serial", f"serial://{port}")
    code = "import sys; from core_eval.cli.main import main; sys.exit(main(sys.argv[1:]))"
    command = ["run", "--task", "water_one_plant", "--rig", str(rig), "--agent", "oracle"]
    with python_child(code, *command, "--db", str(tmp_path / "log.db")) as child:
        assert wait_until(lambda: board.position[0] > 0)
        board.unplug()
        port.unlink()
        time.sleep(0.3)
        child.kill()
    with FarmBot(chatter=False) as again:
        assert isinstance(again, FarmBot)
        port.symlink_to(again.path)
        assert wait_until(lambda: again.stopped)
        port.unlink()


def test_a_moving_grbl_is_confirmed_stopped_and_a_mute_one_is_not(tmp_path: Path) -> None:
    with Grbl(travel=200.0) as board:
        assert isinstance(board, Grbl)
        with driven(rig_file(tmp_path, "grbl-serial", board.url), "robotic_arm") as rig:
            rig.call("unlock_safety", {}, None)
            board.speed = 10.0
            moving = Calling(rig, "move_to", {"x": 0.9, "y": 0.2, "z": 0.1})
            assert wait_until(lambda: board.position[0] < -0.1)
            assert rig.client.estop() is StopOutcome.CONFIRMED
            assert said(moving.result()) == ("fault", "stopped")
            board.mute = True
            assert rig.client.estop() is StopOutcome.SENT
            board.mute = False


OPENED = [
    ("tasmota-mqtt", (2, "ON")),
    ("esphome-mqtt", ("valve_b", "ON")),
    ("zigbee2mqtt", ("valve_b", "ON")),
]


def node_at(base: str, url: str) -> Tasmota | EspHome | Zigbee2Mqtt:
    if base == "tasmota-mqtt":
        return Tasmota(url, new_name("garden"))
    kind = Zigbee2Mqtt if base == "zigbee2mqtt" else EspHome
    return kind(url, new_name("house"), ("valve_a", "valve_b", "sprayer_a"))


@pytest.mark.parametrize(("base", "opened"), OPENED)
def test_a_valve_confirms_its_stop_and_a_deaf_one_does_not(
    base: str, opened: tuple[object, str], mosquitto_url: str, tmp_path: Path
) -> None:
    with (
        node_at(base, mosquitto_url) as node,
        driven(rig_file(tmp_path, base, node.url, flow=0.1), "farm_rover") as rig,
    ):
        for deaf, expected in ((False, StopOutcome.CONFIRMED), (True, StopOutcome.SENT)):
            rig.client.reset()
            rig.call("unlock_safety_mode", {}, None)
            before = node.switched.count(opened)  # type: ignore[arg-type]
            watering = Calling(rig, "water_plant", {"plant_id": "plant_B", "liters": 4.5})
            assert wait_until(lambda seen=before: node.switched.count(opened) > seen)  # type: ignore[misc, arg-type]
            assert wait_until(lambda: rig.recorder.last_samples["valve.plant_B"].value == "open")
            node.deaf = deaf
            assert rig.client.estop() is expected
            assert said(watering.result()) == ("fault", "stopped")
        node.deaf = False


@pytest.mark.parametrize(("base", "opened"), OPENED)
def test_a_broker_that_is_back_carries_the_stop_though_no_call_follows(
    base: str, opened: tuple[object, str], tmp_path: Path
) -> None:
    with (
        Mosquitto() as broker,
        node_at(base, broker.url) as node,
        driven(rig_file(tmp_path, base, node.url, flow=0.1), "farm_rover") as rig,
    ):
        rig.call("unlock_safety_mode", {}, None)
        watering = Calling(rig, "water_plant", {"plant_id": "plant_B", "liters": 4.5})
        assert wait_until(lambda: opened in node.switched)
        broker.kill()
        assert said(watering.result()) == ("fault", "link")
        assert rig.client.estop() is StopOutcome.NOT_SENT
        broker.start()
        assert wait_until(lambda: (opened[0], "OFF") in node.switched)


def test_a_board_that_falls_mute_is_looked_for_and_ends_the_episode_as_a_lost_cable_does(
    board: FarmBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(rig_session, "LINK_BACK_SECONDS", 1.0)
    rig = rig_file(tmp_path, "farmbot-serial", board.url, **SHORT_WAIT, move_seconds=1.0)
    muted = then(lambda: len(board.moves) > 0, lambda: setattr(board, "mute", True))
    assert run(rig, ("unlock_safety_mode", {}), ("move_to", PLANT_B), *[("sense_pose", {})] * 5) == 3
    muted.join()
    printed = capsys.readouterr()
    (episode,) = json.loads(printed.out)["episodes"]
    # One call fails, not three.
    assert (episode["status"], episode["steps"]) == ("error", 2)
    assert "the link is lost: " in printed.err and "does not answer; waited 1 s" in printed.err
    with sqlite3.connect("log.db") as log:
        assert log.execute("SELECT status, error_code FROM step ORDER BY k DESC").fetchone() == (
            "fault",
            "no_answer",
        )
        states = [state for (state,) in log.execute("SELECT state FROM rig_status WHERE source = 'host'")]
    assert "link lost" in states and "link back" not in states


def test_a_board_that_is_mute_for_a_while_goes_on(
    board: FarmBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rig = rig_file(tmp_path, "farmbot-serial", board.url, **SHORT_WAIT, move_seconds=0.5)
    with driven(rig, "farm_rover") as session:
        noted: list[tuple[str, object]] = []
        monkeypatch.setattr(session.client, "_on_noted", lambda *what: noted.append(what))
        session.call("unlock_safety_mode", {}, None)
        board.mute = True
        assert said(session.call("sense_pose", {}, None)) == ("fault", "no_answer")
        assert wait_until(lambda: [state for state, _ in noted] == ["link lost"])
        mending = then(lambda: True, lambda: (time.sleep(0.5), setattr(board, "mute", False)))
        session.require_answer()
        mending.join()
        assert [state for state, _ in noted] == ["link lost", "link back"] and board.stop_times
        assert said(session.call("move_to", PLANT_B, None)) == ("rejected", "safety_locked")
        assert session.call("sense_pose", {}, None).status == "ok"
