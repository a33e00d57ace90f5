"""What is particular to serial lines: frames, the stop byte, noise, pulled cables."""

from __future__ import annotations

import json
import os
import random
import select
import threading
import time
import tty
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import serial
from bridge_rig import ScriptedDevice, wait_until

from devices.outcome import StopOutcome
from firmware_bridge import messages as wire
from firmware_bridge.client import RigClient
from firmware_bridge.codec import encode
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.lines import LineDecoder, to_line
from firmware_bridge.link import LinkError
from firmware_bridge.links import open_link
from firmware_bridge.serial.link import SerialLink
from firmware_bridge.serial.port import SerialPort

pytestmark = pytest.mark.serial


class Rig:
    def __init__(self, **options: Any) -> None:
        self.device = ScriptedDevice()
        self.port = SerialPort("pty")
        self.path = self.port.path
        self.endpoint = DeviceEndpoint(self.device, self.port, **options)
        self.endpoint.start()


@pytest.fixture
def rig() -> Iterator[Rig]:
    rig = Rig()
    yield rig
    rig.device.go.set()
    rig.endpoint.close()


class RawHost:
    """A host that knows the frames and nothing of ours."""

    def __init__(self, path: str) -> None:
        self.port = serial.Serial(path, 115200, timeout=0.05)
        self.decoder = LineDecoder()
        self.messages: list[dict[str, Any]] = []

    def send(self, message: dict[str, Any]) -> None:
        self.port.write(to_line(json.dumps(message).encode()))

    def wait(self, **keys: Any) -> dict[str, Any]:
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            for message in self.messages:
                if keys.items() <= message.items():
                    self.messages.remove(message)
                    return message
            for payload in self.decoder.feed(self.port.read(self.port.in_waiting or 1)):
                self.messages.append(json.loads(payload))
        raise AssertionError((keys, self.messages))


@pytest.fixture
def host(rig: Rig) -> Iterator[RawHost]:
    raw = RawHost(rig.path)
    yield raw
    raw.port.close()


def test_a_host_written_by_others_drives_the_device(host: RawHost) -> None:
    host.send({"op": "hello"})
    assert host.wait(op="status", state="online")["max_frame"] == 65536
    host.send({"v": 1, "op": "call", "id": "x", "tool": "echo", "args": {"a": 1}})
    assert host.wait(op="result", id="x")["value"] == {"a": 1}
    host.send({"op": "estop"})
    host.wait(op="status", state="estop")
    host.send({"op": "reset"})
    host.wait(op="status", state="online")


def test_the_stop_byte_acts_at_once_in_a_running_call_and_without_newline(rig: Rig, host: RawHost) -> None:
    host.send({"op": "call", "id": "slow", "tool": "slow", "args": {}})
    assert rig.device.started.wait(25)
    host.port.write(b"\x18")
    host.wait(op="status", state="estop")
    assert rig.device.made_safe.is_set()
    assert host.wait(op="result", id="slow")["error"]["code"] == "stopped"


def test_the_stop_byte_acts_in_the_middle_of_a_frame(rig: Rig, host: RawHost) -> None:
    line = to_line(encode(wire.Call(id="split", tool="echo", args={})))
    host.port.write(line[:20] + b"\x18")
    host.wait(op="status", state="estop")
    host.port.write(line[20:])
    assert host.wait(op="result", id="split")["error"]["code"] == "estop"
    assert not rig.device.executed and rig.endpoint.dropped == 0


@pytest.mark.parametrize("before", [to_line(b'{"op":"reset"}'), to_line(b'{"op":"reset"}')[:5]])
def test_a_reset_that_was_sent_before_the_stop_does_not_undo_it(
    rig: Rig, host: RawHost, before: bytes
) -> None:
    rest = b"" if before.endswith(b"\n") else to_line(b'{"op":"reset"}')[5:]
    host.port.write(before + b"\x18")
    host.wait(op="status", state="estop")
    host.port.write(rest + to_line(b'{"op":"ping"}'))
    host.wait(op="pong")
    assert rig.endpoint.state == "estop"
    host.send({"op": "reset"})
    host.wait(op="status", state="online")


def test_nothing_wrong_is_run_through_a_noisy_line(rig: Rig, host: RawHost) -> None:
    noise = random.Random(4)
    good = 0
    for number in range(1500):
        line = bytearray(to_line(encode(wire.Call(id=f"c{number}", tool="echo", args={"n": number}))))
        kind = noise.choice(["good", "flip", "lose", "insert"])
        at = noise.randrange(len(line) - 1)
        if kind == "flip":
            line[at] ^= 1 << noise.randrange(8)
        elif kind == "lose":
            del line[at]
        elif kind == "insert":
            line.insert(at, noise.randrange(32, 256))
        good += kind == "good"
        if 0x18 in line:
            line = bytearray(b"\n")
        host.port.write(bytes(line))
        if kind == "good":
            host.wait(op="result", id=f"c{number}")
    assert len(rig.device.executed) == good
    assert all(arguments.keys() == {"n"} for _, arguments in rig.device.executed)


def test_frames_over_the_limit_are_dropped_and_the_line_is_in_step() -> None:
    rig = Rig(max_frame=200)
    host = RawHost(rig.path)
    host.send({"op": "call", "id": "long", "tool": "echo", "args": {"x": "y" * 300}})
    host.send({"op": "call", "id": "short", "tool": "echo", "args": {}})
    host.wait(op="result", id="short")
    assert rig.endpoint.dropped == 1 and len(rig.device.executed) == 1
    host.port.close()
    rig.endpoint.close()


def test_a_host_that_never_reads_does_not_block_the_stop(rig: Rig, host: RawHost) -> None:
    for _ in range(3000):
        host.send({"op": "hello"})
    host.port.write(b"\x18")
    assert rig.device.made_safe.wait(25)


def test_a_port_is_opened_for_one_host_alone(rig: Rig) -> None:
    first = SerialLink(f"serial://{rig.path}")
    with pytest.raises(LinkError, match="open in another program"):
        SerialLink(f"serial://{rig.path}")
    first.close()
    SerialLink(f"serial://{rig.path}").close()


def test_a_pulled_cable_is_a_fault_in_mid_call_and_after(rig: Rig) -> None:
    client = RigClient(SerialLink(f"serial://{rig.path}"))
    client.open()
    outcomes: list[Any] = []
    caller = threading.Thread(target=lambda: outcomes.append(client.call("slow", {})))
    caller.start()
    assert rig.device.started.wait(25)
    rig.endpoint.close()
    caller.join(25)
    assert outcomes[0].status == "fault" and outcomes[0].code in ("link", "stopped")
    assert client.call("echo", {}).code == "link"
    client.close()


def test_a_cable_that_is_back_is_found_by_the_next_call(tmp_path: Path) -> None:
    # a stable name, as /dev/serial/by-id gives one, over ports that come and go
    name = tmp_path / "ttyRIG"
    first = Rig()
    name.symlink_to(first.path)
    client = RigClient(SerialLink(f"serial://{name}"))
    client.open()
    assert client.call("echo", {"n": 1}).status == "ok"
    first.endpoint.close()
    name.unlink()
    assert client.call("echo", {"n": 2}).code == "link"
    second = Rig()
    name.symlink_to(second.path)
    assert client.call("echo", {"n": 3}).status == "ok"
    assert [arguments for _, arguments in second.device.executed] == [{"n": 3}]
    client.close()
    assert second.device.made_safe.is_set()
    second.endpoint.close()


@pytest.mark.parametrize("ended", [False, True])
def test_a_stop_that_could_not_be_sent_is_the_first_that_a_port_gets_when_it_is_back(
    ended: bool, tmp_path: Path
) -> None:
    name = tmp_path / "ttyRIG"
    first = Rig()
    name.symlink_to(first.path)
    client = RigClient(open_link(f"serial://{name}"))
    client.open()
    first.endpoint.close()
    name.unlink()
    assert wait_until(lambda: client.call("echo", {}, timeout=1.0).code == "link")
    assert client.estop() is StopOutcome.NOT_SENT
    if ended:
        assert client.close() is StopOutcome.NOT_SENT
        assert client.late_stop_seconds == 60.0
    master, slave = os.openpty()
    tty.setraw(slave)
    name.symlink_to(os.ttyname(slave))
    if not ended:
        with pytest.raises(LinkError):
            client.regain(0.0)
    assert select.select([master], [], [], 10.0)[0]
    assert os.read(master, 1) == b"\x18"
    name.unlink()
    client.close()
    os.close(master)
    os.close(slave)


def test_a_host_drives_a_device_written_by_others() -> None:
    master, slave = os.openpty()
    tty.setraw(slave)
    path = os.ttyname(slave)
    seen: list[dict[str, Any]] = []
    stops: list[bytes] = []
    ended = threading.Event()

    def device() -> None:
        decoder = LineDecoder(1024)
        while not ended.is_set():
            if not select.select([master], [], [], 0.05)[0]:
                continue
            data = os.read(master, 100)
            stops.extend([b"\x18"] * data.count(b"\x18"))
            for payload in decoder.feed(data.replace(b"\x18", b"")):
                message = json.loads(payload)
                seen.append(message)
                answer: dict[str, Any] = {"op": "status", "state": "estop" if stops else "online"}
                if message["op"] == "call":
                    answer = {"op": "result", "id": message["id"], "status": "ok", "value": {"done": 1}}
                if message["op"] != "ping":
                    os.write(master, b"boot noise\r\n" + to_line(json.dumps(answer).encode())[:-1] + b"\r\n")

    thread = threading.Thread(target=device)
    thread.start()
    with RigClient(SerialLink(f"serial://{path}")) as client:
        client.open()
        assert client.call("move_to", {"x": 1.5}).value == {"done": 1}
        assert client.call("move_to", {"x": "long" * 400}).code == "too_long"
        assert client.dropped > 0
    ended.set()
    thread.join(25)
    calls = [message for message in seen if message["op"] == "call"]
    assert [call["args"] for call in calls] == [{"x": 1.5}] and "not_after" not in calls[0]
    assert stops
    os.close(master)
    os.close(slave)


def test_calls_get_through_a_line_that_loses_every_third_frame(rig: Rig) -> None:
    lossy = SerialLink(f"serial://{rig.path}")
    count = [0]
    send = lossy.send

    def lose(payload: bytes) -> None:
        count[0] += 1
        if count[0] % 3:
            send(payload)

    lossy.send = lose  # type: ignore[method-assign]
    with RigClient(lossy, retry_after=0.05) as client:
        client.open()
        for number in range(20):
            assert client.call("echo", {"n": number}).value == {"n": number}
    assert [arguments for _, arguments in rig.device.executed] == [{"n": n} for n in range(20)]


def test_the_end_of_the_port_leaves_no_thread(rig: Rig) -> None:
    rig.endpoint.close()
    assert wait_until(lambda: not any(rig.path in thread.name for thread in threading.enumerate()))
