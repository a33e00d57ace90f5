"""Serial ports by what their adapters say, by plugging them in, and behind a network."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import serial
from bridge_rig import ScriptedDevice, wait_until
from serial.rfc2217 import PortManager

from firmware_bridge.client import RigClient
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.link import LinkError
from firmware_bridge.links import open_link
from firmware_bridge.rig_process.link import Opener, RigProcessLink
from firmware_bridge.serial import address as serial_address
from firmware_bridge.serial.address import parse_serial_url
from firmware_bridge.serial.link import SerialLink
from firmware_bridge.serial.port import SerialPort
from firmware_bridge.serial.ports import PortInfo, Selector, find_by_plugging

pytestmark = pytest.mark.serial

MEGA = PortInfo("/dev/ttyACM0", "7563", 0x2341, 0x0042, "Mega")
UNO = PortInfo("/dev/ttyACM1", "9999", 0x2341, 0x0043, "Uno")
CLONE = PortInfo("/dev/ttyUSB0", None, 0x1A86, 0x7523, "CH340")
BARE = PortInfo("/dev/ttyS0")


def test_a_port_is_found_by_what_it_says_of_itself() -> None:
    ports = [MEGA, UNO, CLONE, BARE]
    for port in (MEGA, UNO, CLONE):
        selector = parse_serial_url(port.url).selector
        assert selector is not None and selector.find(ports) == port
    assert parse_serial_url("serial://?vid=0x2341&pid=0042").selector == Selector(None, 0x2341, 0x42)
    assert parse_serial_url(BARE.url).target == "/dev/ttyS0"
    with pytest.raises(LinkError, match=r"2 serial ports have vid=2341: .*ttyACM0.*ttyACM1.*serial="):
        Selector(vid=0x2341).find(ports)
    with pytest.raises(LinkError, match=r"no serial port has serial=1; .*ttyUSB0 1a86:7523.*cable"):
        Selector("1").find(ports)


@pytest.mark.parametrize(
    "url",
    [
        "serial://",
        "serial:///dev/ttyS0?serial=1",
        "serial:///dev/ttyS0?baud=0",
        "serial:///dev/ttyS0?boot=long",
        "serial:///dev/ttyS0?dtr=2",
        "serial:///dev/ttyS0?speed=1",
        "serial://?vid=arduino",
        "socket://host",
        "socket://host:99999",
        "socket://host:1/path",
        "rfc2217://:1",
    ],
)
def test_a_url_that_makes_no_sense_is_one_clear_line(url: str) -> None:
    with pytest.raises(LinkError, match="bad serial URL") as told:
        parse_serial_url(url)
    assert "\n" not in str(told.value)


def test_the_port_that_is_plugged_in_is_the_one() -> None:
    seen = iter([[MEGA, BARE], [MEGA, BARE], [BARE], [BARE], [BARE, MEGA]])
    told: list[str] = []
    assert find_by_plugging(told.append, ports=lambda: next(seen), period=0.0) == MEGA
    assert "ttyACM0" in told[1] and "is gone" in told[1]
    with pytest.raises(LinkError, match="no serial port was plugged in"):
        find_by_plugging(told.append, ports=lambda: [BARE], timeout=0.01, period=0.001)


class Rig:
    def __init__(self) -> None:
        self.device = ScriptedDevice()
        self.port = SerialPort("pty")
        self.path = self.port.path
        self.endpoint = DeviceEndpoint(self.device, self.port)
        self.endpoint.start()


@pytest.fixture
def rig() -> Iterator[Rig]:
    rig = Rig()
    yield rig
    rig.device.go.set()
    rig.endpoint.close()


def test_a_port_that_came_back_under_another_path_is_found(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    here = [PortInfo(rig.path, "7563")]
    monkeypatch.setattr(serial_address, "list_ports", lambda: here)
    with RigClient(SerialLink("serial://?serial=7563")) as client:
        client.open()
        rig.endpoint.close()
        assert wait_until(lambda: client.call("echo", {}, timeout=1.0).status == "fault")
        second = Rig()
        here[:] = [PortInfo(second.path, "7563")]
        client.regain(5.0)
        assert client.call("echo", {"n": 2}).value == {"n": 2}
    second.endpoint.close()


def test_whoever_has_the_port_open_is_named(rig: Rig) -> None:
    first = SerialLink(f"serial://{rig.path}")
    with pytest.raises(LinkError, match=rf"open in another program: .+ \(process {os.getpid()}\), .* UTC"):
        SerialLink(f"serial://{rig.path}")
    first.close()


STOPPER = """
import fcntl, sys, time
open("/proc/self/comm", "w").write("pathrig stop")
port = open(sys.argv[1], "rb")
fcntl.flock(port, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.read()
"""


def test_the_late_stop_of_an_earlier_run_is_named_and_waited_for(rig: Rig) -> None:
    command = [sys.executable, "-c", STOPPER, rig.path]
    said: list[str] = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as stopper:
        assert stopper.stdout is not None and stopper.stdin is not None
        assert stopper.stdout.readline() == "locked\n"
        let_go = stopper.stdin.close

        def tell(line: str) -> None:
            said.append(line)
            let_go()

        opener = Opener("firmware_bridge.serial.link:SerialLink", {"url": f"serial://{rig.path}"})
        with RigClient(RigProcessLink(opener, tell)) as client:
            client.open()
            assert client.call("echo", {"n": 1}).status == "ok"
    assert said == [
        f"the rig process of an earlier run (process {stopper.pid}) is stopping the rig at {rig.path}: "
        "waiting for it"
    ]


def test_a_board_that_boots_after_it_was_plugged_in_gets_the_call_once_it_answers(tmp_path: Path) -> None:
    name = tmp_path / "ttyRIG"
    first = Rig()
    name.symlink_to(first.path)
    with RigClient(SerialLink(f"serial://{name}?boot=5"), retry_after=0.05) as client:
        client.open()
        first.endpoint.close()
        name.unlink()
        assert wait_until(lambda: client.call("echo", {"lost": 1}, timeout=1.0).code == "link")
        device, port = ScriptedDevice(), SerialPort("pty")
        name.symlink_to(port.path)
        endpoint = DeviceEndpoint(device, port)
        booted = threading.Timer(0.5, lambda: (os.read(port._fd, 65_536), endpoint.start()))
        booted.start()
        assert client.call("echo", {"n": 1}).status == "ok"
        assert device.executed == [("echo", {"n": 1})]
    booted.join()
    endpoint.close()


class WithoutModemLines(serial.Serial):
    """A pseudo terminal has none."""

    dsr = cts = ri = cd = False

    def _update_dtr_state(self) -> None:
        return

    def _update_rts_state(self) -> None:
        return


class PortServer:
    """A serial port on a TCP port of loopback: raw, or by RFC 2217."""

    def __init__(self, path: str, *, rfc2217: bool) -> None:
        self.port = WithoutModemLines(path, timeout=0)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.where = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.rfc2217 = rfc2217
        self.ended = threading.Event()
        self.client: socket.socket | None = None
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def _serve(self) -> None:
        while not self.ended.is_set():
            if not select.select([self.listener], [], [], 0.05)[0]:
                continue
            self.client, _ = self.listener.accept()
            with contextlib.suppress(OSError):
                self._pump(self.client)
            self.client.close()

    def _pump(self, client: socket.socket) -> None:
        manager: Any = PortManager(self.port, self, logger=None) if self.rfc2217 else None
        while not self.ended.is_set():
            readable, _, _ = select.select([client, self.port.fileno()], [], [], 0.05)
            if client in readable:
                data = client.recv(4096)
                if not data:
                    return
                self.port.write(b"".join(manager.filter(data)) if manager else data)
            if self.port.fileno() in readable:
                data = self.port.read(4096)
                client.sendall(b"".join(manager.escape(data)) if manager else data)

    def write(self, data: bytes) -> None:
        assert self.client is not None
        self.client.sendall(data)

    def close(self) -> None:
        self.ended.set()
        self.thread.join(25)
        self.listener.close()
        self.port.close()


@pytest.mark.filterwarnings("ignore:set(Daemon|Name)")  # of pyserial's own
@pytest.mark.parametrize("scheme", ["socket", "rfc2217"])
def test_a_port_behind_a_network_is_a_port_like_any_other(rig: Rig, scheme: str) -> None:
    server = PortServer(rig.path, rfc2217=scheme == "rfc2217")
    try:
        with RigClient(open_link(f"{scheme}://{server.where}")) as client:
            client.open()
            assert client.call("echo", {"text": "x" * 3000}).value == {"text": "x" * 3000}
            assert client.estop() and rig.device.made_safe.is_set()
            assert client.reset()
        rig.device.made_safe.clear()
        with RigClient(open_link(f"{scheme}://{server.where}")) as client:
            client.open()
        assert rig.device.made_safe.wait(25)
    finally:
        server.close()
    with pytest.raises(LinkError):
        open_link(f"{scheme}://{server.where}")


def test_a_network_port_that_goes_away_is_a_fault_and_may_come_back(rig: Rig) -> None:
    server = PortServer(rig.path, rfc2217=False)
    try:
        with RigClient(open_link(f"socket://{server.where}")) as client:
            client.open()
            assert server.client is not None
            server.client.shutdown(socket.SHUT_RDWR)
            time.sleep(0.05)
            client.regain(5.0)
            assert client.call("echo", {"n": 1}).status == "ok"
    finally:
        server.close()
