"""A second run attaches to the rig process of a run that was killed, and learns how its stop went."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from bridge_rig import wait_until
from paths import ROOT
from processes import ended

from devices.outcome import StopOutcome
from firmware_bridge.link import LinkError
from firmware_bridge.rig_process.door import AdoptedProcess, Door, door_name, enter
from firmware_bridge.rig_process.link import Opener, RigProcessLink

pytestmark = pytest.mark.stops

MODULE = """
import os
from pathlib import Path
from devices.outcome import StopOutcome
from firmware_bridge.link import Link, LinkError

class Wire(Link):
    # Its cable is in while the file `cable` is there.
    def __init__(self, folder):
        self.folder, self.name, self.owed = Path(folder), "wire of the test", False
        (self.folder / "opened").open("a").write(f"{os.getpid()}\\n")

    @property
    def connected(self):
        return (self.folder / "cable").exists()

    @property
    def stop_owed(self):
        return self.owed

    def attach(self, on_frame, on_state):
        pass

    def ensure(self, timeout):
        self.check()

    def send(self, payload):
        self.check()

    def check(self):
        if not self.connected:
            raise LinkError("the cable is out")

    def estop(self):
        self.owed = not (self.folder / "pty").exists()
        self.check()
        self.owed = False
        (self.folder / "stops").open("a").write("stop\\n")
        return StopOutcome.CONFIRMED

    def close(self):
        (self.folder / "closed").touch()

def open_wire(folder, stop_first=False):
    return Wire(folder)
"""
HOST = """
import json, sys
from firmware_bridge.rig_process.link import Opener, RigProcessLink
link = RigProcessLink(Opener("wire_of_test:open_wire", json.loads(sys.argv[1])))
print("open", flush=True)
sys.stdin.read()
"""


class Rig:
    """A wire in a folder, and the runs that drive it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        (folder / "wire_of_test.py").write_text(MODULE, encoding="utf-8")
        self.plug()
        monkeypatch.syspath_prepend(str(folder))
        self.opener = Opener("wire_of_test:open_wire", {"folder": str(folder)})
        self.told: list[str] = []

    def plug(self) -> None:
        (self.folder / "cable").touch()

    def unplug(self) -> None:
        (self.folder / "cable").unlink()

    def processes(self) -> list[int]:
        return [int(line) for line in (self.folder / "opened").read_text().split()]

    def run(self) -> subprocess.Popen[bytes]:
        """Another process that drives it."""
        host = subprocess.Popen(
            [sys.executable, "-c", HOST, json.dumps(self.opener.arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": f"{self.folder}:{ROOT}"},
        )
        assert host.stdout is not None and host.stdout.readline() == b"open\n"
        return host

    def open(self) -> RigProcessLink:
        return RigProcessLink(self.opener, self.told.append)


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    rig = Rig(tmp_path, monkeypatch)
    yield rig
    rig.plug()
    for process in rig.processes():
        assert wait_until(lambda one=process: ended(one), 20.0)


def kill(host: subprocess.Popen[bytes]) -> None:
    host.kill()
    host.wait()


def test_a_run_after_a_killed_one_whose_cable_is_out_attaches_and_learns_that_no_stop_was_sent(
    rig: Rig,
) -> None:
    host = rig.run()
    rig.unplug()
    kill(host)
    link = rig.open()
    assert link.late_stop is not None and link.late_stop["outcome"] == StopOutcome.NOT_SENT
    assert abs(link.late_stop["time"] - time.time()) < 30.0
    assert len(rig.processes()) == 1, "no second process opened it"
    assert not link.connected
    with pytest.raises(LinkError, match="the cable is out"):
        link.estop()
    rig.plug()
    assert link.stop() is StopOutcome.CONFIRMED and link.rig.outcome is StopOutcome.CONFIRMED
    assert rig.told == ["attached to an earlier run's rig process; its stop: not sent"]
    link.close()
    assert wait_until((rig.folder / "closed").exists)


def test_one_that_is_attached_to_stops_for_its_new_host_too(rig: Rig) -> None:
    first = rig.run()
    rig.unplug()
    kill(first)
    second = rig.run()
    rig.plug()
    assert not (rig.folder / "stops").exists()
    kill(second)
    assert wait_until((rig.folder / "stops").exists)
    assert len(rig.processes()) == 1


def test_an_end_in_order_with_the_cable_out_is_attached_to_as_well(rig: Rig) -> None:
    first = rig.open()
    rig.unplug()
    with pytest.raises(LinkError):
        first.estop()
    first.close()
    assert first.late_stop_seconds == 60.0
    second = rig.open()
    assert len(rig.processes()) == 1 and second.late_stop is not None
    rig.plug()
    second.estop()
    second.close()


def test_one_that_dies_after_it_was_attached_to_is_replaced_and_the_log_told(rig: Rig) -> None:
    host = rig.run()
    rig.unplug()
    kill(host)
    link = rig.open()
    noted: list[tuple[str, Mapping[str, Any]]] = []
    link.on_noted = lambda state, detail: noted.append((state, detail))
    rig.plug()
    AdoptedProcess(rig.processes()[0]).kill()
    assert wait_until(lambda: len(rig.processes()) == 2 and link.connected, 20.0)
    assert (rig.folder / "stops").exists(), "another one stops the rig"
    assert wait_until(lambda: noted)
    ((state, detail),) = noted
    assert state == "rig process replaced" and detail["stop"] == "confirmed" and detail["seconds"] > 0.0
    link.close()


def test_a_stop_for_a_host_that_stands_still_is_told_to_its_log(rig: Rig) -> None:
    link = rig.open()
    noted: list[str] = []
    link.on_noted = lambda state, detail: noted.append(state)
    with link._writing:  # it cannot give a sign of life
        assert wait_until((rig.folder / "stops").exists, 20.0)
    assert wait_until(lambda: noted == ["stopped by the rig process", "stop by the rig process"])
    link.close()


def test_a_rig_that_was_stopped_for_a_killed_host_is_kept_for_the_next_one(rig: Rig) -> None:
    host = rig.run()
    kill(host)
    assert wait_until((rig.folder / "stops").exists)
    link = rig.open()
    assert link.late_stop is not None and link.late_stop["outcome"] == StopOutcome.CONFIRMED
    assert 0.0 <= link.late_stop["seconds"] < 1.0, "one stop was enough"
    assert len(rig.processes()) == 1 and link.connected, "its port was not opened again"
    link.close()


def test_a_wire_that_never_comes_back_is_not_attached_to(rig: Rig) -> None:
    (rig.folder / "pty").touch()
    host = rig.run()
    rig.unplug()
    kill(host)
    # While its stops are tried, for a second.
    link = rig.open()
    assert link.late_stop is None and len(rig.processes()) == 2
    rig.plug()
    link.close()


def test_a_run_beside_a_living_one_does_not_enter(rig: Rig) -> None:
    host = rig.run()
    name = door_name(rig.opener.function, rig.opener.arguments)
    assert enter(name, 10.0) is None
    other = rig.open()
    assert len(rig.processes()) == 2 and other.late_stop is None, "the port's own lock decides"
    other.close()
    kill(host)


def test_a_door_is_one_rigs_and_tells_nothing_of_it() -> None:
    names = {
        door_name("a:b", {"url": "serial:///dev/ttyACM0"}),
        door_name("a:b", {"url": "serial:///dev/ttyACM1"}),
        door_name("a:c", {"url": "serial:///dev/ttyACM0"}),
    }
    assert len(names) == 3 and not any("ttyACM" in name for name in names)
    assert enter(door_name("a:b", {"url": "nobody"}), 1.0) is None


def test_a_host_that_died_a_moment_ago_has_its_successor_wait() -> None:
    name = door_name("test:door", {"process": os.getpid(), "for": "a dead host"})
    door = Door(name)
    host, its = socket.socketpair()
    with its, socket.socket(socket.AF_UNIX) as early, socket.socket(socket.AF_UNIX) as successor:
        early.connect("\0" + name)
        door.turn_away(its)
        early.settimeout(1.0)
        assert early.recv(1) == b""
        host.close()
        successor.connect("\0" + name)
        door.turn_away(its)
        let_in = door.wait(0.0)
        assert let_in is not None
        let_in.close()


def test_a_second_door_of_the_name_lets_nobody_in() -> None:
    name = door_name("test:door", {"process": os.getpid()})
    first, second = Door(name), Door(name)
    with socket.socket(socket.AF_UNIX) as host:
        host.connect("\0" + name)
        assert second.wait(0.0) is None
        let_in = first.wait(1.0)
        assert let_in is not None
        let_in.close()
