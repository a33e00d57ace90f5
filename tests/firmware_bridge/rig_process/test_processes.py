"""Hosts and rig processes that are killed or stand still: the pump of a driver in Python is off."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from bridge_rig import wait_until
from given_clock import GivenClock
from paths import ROOT
from standins.farmbot import FarmBot

from firmware_bridge.rig_process.link import Opener, RigProcessLink, is_stopped

pytestmark = [pytest.mark.stops, pytest.mark.slow]

START = 60.0
"""Seconds that a process may take on a busy machine until it drives."""
DEVICE = """
name: pump
description: A pump.
tools:
  pour: {description: Pour for a minute., effect: write}
  look: {description: Look., effect: read}
"""
DRIVER = """
name: my-pump
description: a pump whose state is a file
link: python
python: my_pump:Pump
device: pump.yaml
"""
MODULE = """
import os, time
from pathlib import Path
from urllib.parse import urlsplit
from core_eval.call_status import CallStatus
from devices.outcome import Outcome

class Pump:
    name, firmware = "pump", "pump 1"

    def __init__(self, url, settings):
        self.file = Path(urlsplit(url).path)
        (self.file.parent / "pid").write_text(str(os.getpid()))

    def execute(self, tool, arguments, stop):
        if tool == "pour":
            self.file.write_text("on")
            if stop.wait(60):
                return Outcome(CallStatus.FAULT, code="stopped", message="stopped")
        return Outcome(CallStatus.OK, {})

    def stop(self):
        self.file.write_text("off")

    def standing(self):
        return self.file.read_text() == "off"

    def reset(self): pass
    def init(self, state, seed): return Outcome(CallStatus.INVALID, code="physical", message="a pump")
    def subscribe(self, emit): pass
    def truth(self): return None
    def close(self): pass
"""
HOST = """
import sys
from configs.rigs_loader import load_rig
from core_eval.rig.opening import open_rig
with open_rig(load_rig("rig.yaml")) as session:
    session.initialise("pump", {}, 0, required=False)
    for tool in ("look", "pour", "look"):
        outcome = session.call(tool, {}, None)
        print(outcome.status, outcome.code, flush=True)
"""


class Pump:
    """A pump, and the program that drives it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.state = folder, folder / "state"
        self.state.write_text("off")
        (folder / "pump.yaml").write_text(DEVICE)
        (folder / "my-pump.yaml").write_text(DRIVER)
        (folder / "my_pump.py").write_text(MODULE)
        (folder / "rig.yaml").write_text(f"name: pump\nurl: file://{self.state}\ndriver: my-pump.yaml\n")
        environment = os.environ | {"PYTHONPATH": f"{folder}:{ROOT}"}
        self.host = subprocess.Popen(
            [sys.executable, "-c", HOST],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def is_on(self) -> bool:
        return self.state.read_text() == "on"

    def rig_process(self) -> int:
        return int((self.folder / "pid").read_text())

    def off_after(self, timeout: float = 25.0) -> float:
        """Seconds until the pump is off."""
        began = time.monotonic()
        assert wait_until(lambda: not self.is_on(), timeout)
        return time.monotonic() - began


@contextmanager
def pouring(folder: Path) -> Iterator[Pump]:
    pump = Pump(folder)
    try:
        assert wait_until(pump.is_on, START), pump.host.communicate(timeout=5)
        yield pump
    finally:
        pump.host.kill()
        pump.host.wait()


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_host_that_is_killed_leaves_no_pump_on_and_no_process(tmp_path: Path) -> None:
    with pouring(tmp_path) as pump:
        pid = pump.rig_process()
        assert Path(f"/proc/{pid}/comm").read_text().strip() == "pathrig rig"
        pump.host.kill()
        pump.off_after()
        assert wait_until(lambda: not is_running(pid))


def test_no_password_stands_in_its_command_line(tmp_path: Path) -> None:
    with pouring(tmp_path) as pump:
        words = Path(f"/proc/{pump.rig_process()}/cmdline").read_bytes()
    # A rig's URL may hold one, and every user may read the commands of all processes.
    assert b"file://" not in words and b"my-pump" not in words and b"rig_side" in words


def test_what_kills_the_hosts_whole_group_leaves_its_rig_process_to_stop_the_rig(tmp_path: Path) -> None:
    with pouring(tmp_path) as pump:
        os.killpg(pump.host.pid, signal.SIGKILL)
        pump.off_after()


def test_a_freeze_of_host_and_rig_process_at_once_ends_with_the_stop(tmp_path: Path) -> None:
    """As `docker pause` and a suspend without logind do."""
    with pouring(tmp_path) as pump:
        both = (pump.host.pid, pump.rig_process())
        for pid in both:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(4.0)
        assert pump.is_on(), "nobody is there who could stop it"
        # A host that goes on first finds its rig process stopped, and replaces it.
        for pid in reversed(both):
            os.kill(pid, signal.SIGCONT)
        pump.off_after()
        said, _ = pump.host.communicate(timeout=60)
    assert said.splitlines() == ["ok None", "fault host_frozen", "rejected estop"]


def test_a_death_of_host_and_rig_process_at_once_stops_nothing(tmp_path: Path) -> None:
    """As the pages say: only a watchdog of the board outlives both."""
    with pouring(tmp_path) as pump:
        pid = pump.rig_process()
        os.kill(pid, signal.SIGSTOP)
        pump.host.kill()
        os.kill(pid, signal.SIGKILL)
        assert wait_until(lambda: not is_running(pid))
        time.sleep(1.0)
        assert pump.is_on()


def test_a_host_that_stands_still_is_stopped_for_after_its_third_silent_second(tmp_path: Path) -> None:
    with pouring(tmp_path) as pump:
        pump.host.send_signal(signal.SIGSTOP)
        # Its last beat is at most a second old.
        assert pump.off_after() > 1.5
        pump.host.send_signal(signal.SIGCONT)
        said, _ = pump.host.communicate(timeout=60)
    assert said.splitlines() == ["ok None", "fault host_frozen", "rejected estop"]


def test_a_ctrl_c_reaches_the_host_alone_and_stops_in_order(tmp_path: Path) -> None:
    with pouring(tmp_path) as pump:
        pid = pump.rig_process()
        pump.host.send_signal(signal.SIGINT)
        pump.off_after()
        pump.host.communicate(timeout=60)
        assert wait_until(lambda: not is_running(pid))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_rig_process_that_dies_or_stands_still_is_replaced_and_the_pump_stopped(
    tmp_path: Path, number: signal.Signals
) -> None:
    with pouring(tmp_path) as pump:
        pid = pump.rig_process()
        os.kill(pid, number)
        pump.off_after(40)
        said, errors = pump.host.communicate(timeout=60)
        assert pump.rig_process() != pid and not is_running(pid)
    # Whether the call was done is not known; the rig stays stopped until a reset.
    assert said.splitlines() == ["ok None", "fault device_reset", "rejected estop"]
    assert "has ended (killed by signal 9); another one stops the rig" in errors


def test_one_that_a_signal_stopped_is_noticed_within_a_second_and_a_busy_one_is_not() -> None:
    clock, said = GivenClock(1), list[str]()
    with FarmBot() as board:
        opener = Opener("firmware_bridge.serial.link:SerialLink", {"url": board.url})
        link = RigProcessLink(opener, said.append, clock)
        pid = link._process.pid
        clock.advance(2.0)
        assert link._process.pid == pid and not is_stopped(pid) and not is_stopped(os.getpid())
        os.kill(pid, signal.SIGSTOP)
        assert wait_until(lambda: is_stopped(pid))
        clock.advance(0.99)
        assert said == []
        clock.threads(0)
        clock.jump(0.02)
        assert wait_until(lambda: link._process.pid != pid and link.connected, START)
        assert not is_running(pid) and not is_stopped(pid) and "killed by signal 9" in said[0]
        link.close()


def test_an_error_of_the_class_in_its_start_is_one_line(tmp_path: Path) -> None:
    pump = Pump(tmp_path)
    pump.host.kill()
    pump.host.wait()
    (tmp_path / "my_pump.py").write_text(
        MODULE.replace("self.file = Path", "raise OSError('no such pump') #")
    )
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
    command = [sys.executable, "-m", "core_eval.cli.main", "rigs", "check", "--allow-programs", "rig.yaml"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=START, check=False
    )
    assert done.returncode == 3 and "Traceback" not in done.stderr
    assert "driver my-pump: no such pump" in done.stderr
