"""Both links on real parts: mosquitto, the embedded broker, a pseudo terminal."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from bridge_rig import ScriptedDevice, wait_until

from devices.sensors import Sample, Truth
from firmware_bridge.client import RigClient
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.link import LinkError
from firmware_bridge.links import open_link
from firmware_bridge.mqtt.link import MqttPort
from firmware_bridge.serial.port import SerialPort

pytestmark = [pytest.mark.broker, pytest.mark.serial]


@dataclass
class Rig:
    device: ScriptedDevice
    endpoint: DeviceEndpoint
    url: str


@contextmanager
def a_rig(kind: str, request: pytest.FixtureRequest, **options: Any) -> Iterator[Rig]:
    device = ScriptedDevice()
    port: MqttPort | SerialPort
    if kind == "serial":
        port = SerialPort("pty")
        url = f"serial://{port.path}?baud=115200"
    else:
        broker = request.getfixturevalue("mosquitto_url" if kind == "mosquitto" else "embedded_broker_url")
        name = f"rig-{secrets.token_hex(3)}"
        port, url = MqttPort(broker, name), f"{broker}/{name}"
    with DeviceEndpoint(device, port, **options) as endpoint:
        yield Rig(device, endpoint, url)


@pytest.fixture(params=["mosquitto", "embedded", "serial"])
def rig(request: pytest.FixtureRequest) -> Iterator[Rig]:
    with a_rig(request.param, request) as rig:
        yield rig


def test_calls_samples_truth_init_stop_and_reset(rig: Rig) -> None:
    samples: list[Sample] = []
    truths: list[Truth] = []
    with RigClient(open_link(rig.url), on_sample=samples.append, on_truth=truths.append) as client:
        status = client.open()
        assert (status.state, status.device, status.watchdog_ms) == ("online", "scripted", 5000)
        assert client.init({"x": [1, None, "ü"]}, 9).status == "ok"
        assert rig.device.inits == [({"x": [1, None, "ü"]}, 9)]
        for number in range(50):
            outcome = client.call("echo", {"n": number, "text": "žluťoučký"})
            assert outcome.status == "ok" and outcome.value == {"n": number, "text": "žluťoučký"}
        assert client.call("refuse", {}).code == "locked"
        assert client.drain()
        assert [sample.t for sample in samples] == [float(n) for n in range(1, 52)]
        assert len(truths) == 52 and truths[-1].state == {"calls": 51}
        assert client.estop() and client.status is not None and client.status.state == "estop"
        assert client.call("echo", {}).code == "estop"
        assert client.reset() and client.call("echo", {}).status == "ok"
        assert client.dropped == 0 and rig.endpoint.dropped == 0
    assert rig.device.made_safe.is_set() and rig.endpoint.state == "estop"


def test_a_second_host_may_come_after_the_first(rig: Rig) -> None:
    for turn in range(3):
        with RigClient(open_link(rig.url)) as client:
            assert client.open().state == ("online" if turn == 0 else "estop")
            assert client.reset() and client.call("echo", {}).status == "ok"


def test_the_same_id_twice_runs_once(rig: Rig) -> None:
    with RigClient(open_link(rig.url)) as client:
        client.open()
        first = client.call("echo", {"a": 1}, call_id="one")
        second = client.call("echo", {"a": 1}, call_id="one")
        assert first == second and len(rig.device.executed) == 1


def test_a_stop_reaches_a_running_call(rig: Rig) -> None:
    with RigClient(open_link(rig.url)) as client:
        client.open()
        outcomes: list[Any] = []
        caller = threading.Thread(target=lambda: outcomes.append(client.call("slow", {})))
        caller.start()
        assert rig.device.started.wait(25)
        assert client.ping() < 5.0
        assert client.estop()
        caller.join(25)
        assert outcomes[0].code == "stopped" and rig.device.made_safe.is_set()


@pytest.mark.parametrize("kind", ["mosquitto", "serial"])
def test_a_host_that_falls_silent_leaves_the_rig_safe(kind: str, request: pytest.FixtureRequest) -> None:
    with a_rig(kind, request, watchdog_ms=2500) as rig:
        client = RigClient(open_link(rig.url))
        client.open()
        assert not wait_until(rig.device.made_safe.is_set, 3.0)
        client.close(safe=False)
        assert wait_until(rig.device.made_safe.is_set)
        assert rig.endpoint.state == "estop"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("mqtt://127.0.0.1:1/rig", "cannot reach the broker at 127.0.0.1:1"),
        ("mqtt://127.0.0.1", "names no rig"),
        ("mqtt://127.0.0.1/a/b", "no rig name"),
        ("mqtt://127.0.0.1/a%23", "no rig name"),
        ("mqtt://127.0.0.1:port/rig", "bad MQTT URL"),
        ("mqtt:///rig", "bad MQTT URL"),
        ("mqtts://127.0.0.1:1/rig?ca=/nowhere.pem", "certificates"),
        ("serial:///dev/does-not-exist", "there is no serial port"),
        ("serial:///dev/null?baud=fast", "bad serial URL"),
        ("serial:///dev/null?speed=9600", "bad serial URL"),
        ("serial:///dev/null", "cannot open /dev/null"),
        ("http://example.invalid/rig", "no link for"),
    ],
)
def test_a_link_that_cannot_be_opened_says_why_in_one_line(url: str, says: str) -> None:
    with pytest.raises(LinkError, match=says) as failure:
        open_link(url)
    assert "\n" not in str(failure.value)
