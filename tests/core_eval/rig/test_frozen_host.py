"""A host that stands still, is killed, or loses its terminal: the machine is stopped all the same."""

from __future__ import annotations

import json
import os
import pty
import signal
import sqlite3
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from bench_rig import BenchRover, on_a_pty
from bridge_rig import python_child, wait_until
from driver_rig import rig_file
from paths import ROOT
from standins.farmbot import FarmBot

from firmware_bridge import freeze_watch
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.mqtt.link import MqttPort

pytestmark = [pytest.mark.broker, pytest.mark.serial, pytest.mark.stops]

CALLS = """
import sys
from configs.rigs_loader import load_rig
from core_eval.rig.opening import open_rig
with open_rig(load_rig(sys.argv[1])) as session:
    session.initialise("farm_rover", {}, 0, required=False)
    for tool, arguments in eval(sys.argv[2]):
        outcome = session.call(tool, arguments, None)
        print(outcome.status, outcome.code, flush=True)
"""
UNLOCK = ("unlock_safety_mode", {})
START = 60.0
"""Seconds that a child process may take on a busy machine until it drives."""


@contextmanager
def stopped_process(child: subprocess.Popen[str]) -> Iterator[None]:
    """SIGSTOP for as long as the block lasts."""
    child.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        child.send_signal(signal.SIGCONT)


def test_a_frozen_host_leaves_no_valve_open_and_takes_its_call_for_a_fault(tmp_path: Path) -> None:
    with FarmBot() as board:
        assert isinstance(board, FarmBot)
        rig = rig_file(tmp_path, "farmbot-serial", board.url, flow=0.05, reach=100.0)
        water = ("water_plant", {"plant_id": "plant_B", "liters": 4.0})
        calls = [UNLOCK, ("sense_pose", {}), water, ("sense_pose", {})]
        with python_child(CALLS, str(rig), repr(calls)) as child:
            assert wait_until(lambda: board.pins.get(8) == 1, START)
            opened = time.monotonic()
            with stopped_process(child):
                assert wait_until(lambda: board.pins[8] == 0, 15)
                # It waits for its third silent second before it takes us for frozen.
                assert time.monotonic() - opened > 1.5
            printed, _ = child.communicate(timeout=60)
            lines = printed.splitlines()
            assert lines[:3] == ["ok None", "ok None", "fault host_frozen"]
            assert lines[3] == "rejected estop", "stopped, and nobody knows where: it takes a reset"
        assert board.stopped


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])
def test_our_own_serial_wire_has_a_stop_keeper_too(number: signal.Signals) -> None:
    rover = BenchRover("move_to")
    with on_a_pty(rover) as url:
        calls = [UNLOCK, ("move_to", {"x": 1.0, "y": 1.0})]
        with python_child(CALLS, url, repr(calls)) as child:
            assert rover.running.wait(START)
            child.send_signal(number)
            # The device's own watchdog of this test waits for a minute.
            assert rover.made_safe.wait(25)
            if number == signal.SIGSTOP:
                child.send_signal(signal.SIGCONT)
                printed, _ = child.communicate(timeout=60)
                assert printed.splitlines()[-1] == "fault host_frozen"


def test_over_a_broker_a_host_that_is_back_stops_the_rig_and_its_call_is_a_fault(mosquitto_url: str) -> None:
    rover = BenchRover("move_to")
    url = f"{mosquitto_url}/frozen-{uuid.uuid4().hex[:6]}"
    calls = [UNLOCK, ("move_to", {"x": 1.0, "y": 1.0}), UNLOCK]
    with (
        DeviceEndpoint(rover, MqttPort(url), watchdog_ms=60_000),
        python_child(CALLS, url, repr(calls)) as child,
    ):
        assert rover.running.wait(START)
        with stopped_process(child):
            time.sleep(freeze_watch.FREEZE_SECONDS + 0.5)
            assert not rover.made_safe.is_set(), "nothing but the device's watchdog is there to stop it"
        assert rover.made_safe.wait(25)
        printed, _ = child.communicate(timeout=60)
    assert printed.splitlines() == ["ok None", "fault host_frozen", "rejected estop"]


def run_command(url: str, folder: Path) -> list[str]:
    calls = [UNLOCK, ("move_to", {"x": 3.5, "y": 12.5})]
    lines = [json.dumps({"name": name, "arguments": arguments}) + "\n" for name, arguments in calls]
    (folder / "calls.jsonl").write_text("".join(lines))
    command = [sys.executable, "-m", "core_eval.cli.main", "run", "--task", "water_one_plant", "--rig", url]
    return [*command, "--agent", f"scripted:{folder / 'calls.jsonl'}", "--db", str(folder / "log.db")]


def logged(folder: Path) -> tuple[str, str | None]:
    with sqlite3.connect(folder / "log.db") as log:
        return log.execute("SELECT status, stop FROM episode").fetchone()


def test_a_terminal_that_is_closed_ends_a_run_in_order(tmp_path: Path) -> None:
    rover = BenchRover("move_to")
    with on_a_pty(rover) as url:
        command = run_command(url, tmp_path)
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(ROOT)
            os.execv(command[0], command)
        try:
            assert rover.running.wait(START)
            os.close(terminal)
            assert wait_until(
                lambda: os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None, 20
            )
            assert rover.made_safe.is_set()
        finally:
            os.kill(pid, signal.SIGKILL)
            _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 128 + signal.SIGHUP
    assert logged(tmp_path) == ("interrupted", "confirmed")


def test_under_nohup_a_run_outlives_its_terminal(tmp_path: Path) -> None:
    rover = BenchRover("move_to")
    with on_a_pty(rover) as url:
        child = subprocess.Popen(
            ["nohup", *run_command(url, tmp_path)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            assert rover.running.wait(START)
            child.send_signal(signal.SIGHUP)
            time.sleep(0.5)
            assert child.poll() is None and not rover.made_safe.is_set()
            child.send_signal(signal.SIGINT)
            child.communicate(timeout=60)
        finally:
            child.kill()
            child.wait()
    assert child.returncode == 130
