"""Two devices under one name at real brokers: the later one gives it up, and a host drives neither."""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import paho.mqtt.client as mqtt
import pytest
from bridge_rig import ScriptedDevice, python_child, wait_until
from paho.mqtt.enums import CallbackAPIVersion

from configs.worlds_loader import load_world, make_simulator
from core_eval.cli.main import main
from core_eval.log import LogReader
from firmware_bridge import name_monitor
from firmware_bridge.client import RigClient
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.link import LinkError
from firmware_bridge.links import open_link
from firmware_bridge.messages import Status
from firmware_bridge.mqtt.link import MqttPort
from firmware_bridge.name_monitor import NameMonitor

pytestmark = pytest.mark.broker

SIM = """
import sys
from core_eval.cli.main import main
sys.exit(main(["sim", "farm_rover", "--mqtt", sys.argv[1]]))
"""


@pytest.fixture(params=["mosquitto_url", "embedded_broker_url"])
def url(request: pytest.FixtureRequest) -> str:
    return f"{request.getfixturevalue(request.param)}/rig-{secrets.token_hex(3)}"


def status(boot: str | None, state: Any = "online") -> Status:
    return Status(state=state, boot=boot)


def test_our_own_status_and_those_without_boot_are_no_other_device() -> None:
    monitor = NameMonitor("ours")
    for connection in range(6):
        monitor.connected()
        assert monitor.take(status("ours"), connection > 0) == "nothing"
        assert monitor.take(status(None), False) == "nothing"


def test_the_device_that_we_replaced_is_no_conflict() -> None:
    monitor = NameMonitor("ours")
    monitor.connected()
    assert monitor.take(status("old"), True) == "nothing"
    # and its last will, which the broker publishes late
    assert monitor.take(status("old", "offline"), False) == "answer"
    monitor.connected()
    assert monitor.take(status("ours"), True) == "nothing"


def test_who_found_the_other_there_gives_up_first() -> None:
    first, later = NameMonitor("a"), NameMonitor("b")
    first.connected()
    later.connected()
    later.take(status("a", "offline"), True)
    for _ in range(name_monitor.SIGNS_OF_NEWCOMER - 1):
        first.connected()
        assert first.take(status("b", "offline"), True) == "nothing"
        later.connected()
        assert later.take(status("a", "offline"), True) == "nothing"
    first.connected()
    assert first.take(status("b", "offline"), True) == "nothing"
    later.connected()
    assert later.take(status("a", "offline"), True) == "conflict"


@pytest.mark.parametrize("apart", [0, 1])
def test_of_two_that_start_at_once_one_alone_gives_up(apart: int) -> None:
    """Neither finds the other's status, since both subscribe before either publishes; statuses cross."""
    monitors = {"a": NameMonitor("a"), "b": NameMonitor("b")}
    for monitor in monitors.values():
        monitor.connected()
    to = {"a": ["online"], "b": ["online"]}
    given_up = []
    for turn in range(40):
        for one, other in (("a", "b"), ("b", "a")):
            if not to[one] or (turn < apart and one == "a") or one in given_up:
                continue
            finding = monitors[one].take(status(other, to[one].pop(0)), False)
            if finding == "conflict":
                given_up.append(one)
            to[other] += {"answer": ["online"], "conflict": ["offline"], "nothing": []}[finding]
    assert given_up == ["a"]


def test_signs_that_lie_far_apart_are_no_conflict(monkeypatch: pytest.MonkeyPatch) -> None:
    monitor = NameMonitor("a")
    monitor.connected()
    now = time.monotonic()
    for number in range(20):
        later = now + 30.0 * number
        monkeypatch.setattr(time, "monotonic", lambda later=later: later)
        monitor.connected()
        assert monitor.take(status("b"), True) == "nothing"


@pytest.mark.parametrize("one_id", [False, True])
def test_of_two_devices_the_later_one_ends(mosquitto_url: str, one_id: bool) -> None:
    url = f"{mosquitto_url}/rig-{secrets.token_hex(3)}"
    told: list[str] = []
    first, port = MqttPort(url), MqttPort(url, on_conflict=told.append)
    if one_id:
        port._client_id = first._client_id
    with DeviceEndpoint(ScriptedDevice(), first):
        assert wait_until(lambda: answers(url)), "its status is there, so that the other one is the later"
        with DeviceEndpoint(ScriptedDevice(), port):
            assert wait_until(lambda: bool(told))
        assert "another device answers as" in told[0] and "\n" not in told[0]
        assert wait_until(lambda: answers(url))


def answers(url: str) -> bool:
    """Whether one device alone is there."""
    try:
        with RigClient(open_link(url)) as client:
            client.open(2.0)
            client.reset()
            return client.call("echo", {}).status == "ok"
    except LinkError:
        return False


def test_a_device_with_a_client_id_of_its_own_is_noticed_by_its_statuses(url: str) -> None:
    told: list[str] = []
    broker, _, rig = url.rpartition("/")
    topic = f"pathrig/v1/{rig}/status"
    other = mqtt.Client(CallbackAPIVersion.VERSION2)
    other.connect("127.0.0.1", int(broker.rpartition(":")[2]))
    other.loop_start()
    kept: list[dict[str, Any]] = []
    other.on_message = lambda _c, _d, message: kept.append(json.loads(message.payload))
    other.subscribe(topic, 1)

    def say(state: str) -> None:
        text = json.dumps({"v": 1, "op": "status", "state": state, "boot": "theirs"})
        other.publish(topic, text, 1, retain=True).wait_for_publish(5.0)

    with DeviceEndpoint(ScriptedDevice(), MqttPort(url, on_conflict=told.append)) as device:
        assert wait_until(lambda: bool(kept))
        ours = kept[-1]["boot"]
        # the other one goes, and the broker would keep its word for ours
        say("offline")
        assert wait_until(lambda: (kept[-1]["boot"], kept[-1]["state"]) == (ours, "online"))
        for _ in range(name_monitor.SIGNS_OF_FIRST):
            assert not told
            say("online")
        assert wait_until(lambda: bool(told)) and "'theirs'" in told[0]
        assert device.state == "online"
    other.loop_stop()
    other.disconnect()


def test_without_anybody_to_tell_the_port_says_it_and_connects_no_more(
    url: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with DeviceEndpoint(ScriptedDevice(), MqttPort(url, on_conflict=lambda _: None)):
        assert wait_until(lambda: answers(url))
        port = MqttPort(url)
        with DeviceEndpoint(ScriptedDevice(), port):
            assert wait_until(lambda: port.conflict is not None)
            assert wait_until(lambda: answers(url))
    assert capfd.readouterr().err.count("another device answers as") == 1


def test_the_later_simulator_ends_with_status_3_and_one_line(mosquitto_url: str) -> None:
    url = f"{mosquitto_url}/rig-{secrets.token_hex(3)}"
    with DeviceEndpoint(ScriptedDevice(), MqttPort(url)):
        assert wait_until(lambda: answers(url))
        with python_child(SIM, url) as later:
            assert later.wait(60) == 3
        assert wait_until(lambda: answers(url))


def test_a_run_over_two_devices_ends_with_status_3(
    mosquitto_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"{mosquitto_url}/rig-{secrets.token_hex(3)}"
    db = tmp_path / "two.db"
    ended = threading.Event()

    first = make_simulator(load_world("farm_rover"))

    def join() -> None:
        assert wait_until(lambda: first.clock.now > 0.0, 30)
        with DeviceEndpoint(make_simulator(load_world("farm_rover")), MqttPort(url, on_conflict=print)):
            ended.wait(60)

    joins = threading.Thread(target=join, daemon=True)
    with DeviceEndpoint(first, MqttPort(url, on_conflict=print)):
        joins.start()
        run = ["run", "--task", "water_one_plant", "--rig", url, "--agent", "random"]
        status = main([*run, "--episodes", "5000", "--db", str(db)])
        ended.set()
        joins.join(30)
    assert status == 3
    assert f"two devices answer as {url}" in capsys.readouterr().err
    with LogReader(db) as reader:
        last = reader.episodes(1)[-1]
    assert last.status == "error" and "two devices answer" in str(last.error)


def test_a_device_that_is_started_again_is_driven_on(mosquitto_url: str) -> None:
    url = f"{mosquitto_url}/rig-{secrets.token_hex(3)}"
    first = DeviceEndpoint(ScriptedDevice(), MqttPort(url))
    first.start()
    with RigClient(open_link(url), retry_after=0.1) as client:
        client.open()
        assert client.call("echo", {}).status == "ok"
        first.close()
        with DeviceEndpoint(ScriptedDevice(), MqttPort(url)):
            assert wait_until(lambda: client.status is not None and client.status.state == "online")
            assert wait_until(lambda: client.call("echo", {}).status == "ok")
            assert client.peer.conflict is None


def test_what_contradicts_an_answer_is_in_the_log_and_changes_nothing(
    mosquitto_url: str, tmp_path: Path
) -> None:
    rig = f"rig-{secrets.token_hex(3)}"
    liar = mqtt.Client(CallbackAPIVersion.VERSION2)
    ready = threading.Event()

    def contradict(_client: Any, _data: Any, message: mqtt.MQTTMessage) -> None:
        said = json.loads(message.payload)
        if said["op"] == "result" and said["status"] == "ok":
            liar.publish(message.topic, json.dumps(said | {"status": "fault", "error": {"code": "x"}}), 1)

    liar.on_message = contradict
    liar.on_subscribe = lambda *_: ready.set()
    liar.connect("127.0.0.1", int(mosquitto_url.rpartition(":")[2]))
    liar.loop_start()
    liar.subscribe(f"pathrig/v1/{rig}/result", 1)
    assert ready.wait(25)
    db = tmp_path / "log.db"
    with DeviceEndpoint(make_simulator(load_world("farm_rover")), MqttPort(mosquitto_url, rig)):
        run = ["run", "--task", "water_one_plant", "--rig", f"{mosquitto_url}/{rig}", "--agent", "oracle"]
        assert main([*run, "--db", str(db)]) == 0
    liar.loop_stop()
    liar.disconnect()
    with sqlite3.connect(db) as log:
        assert log.execute("SELECT DISTINCT status FROM step").fetchall() == [("ok",)]
        noted = log.execute("SELECT detail FROM rig_status WHERE state = 'contradiction'").fetchall()
    assert noted and all(json.loads(one)["dropped"] == "fault x" for (one,) in noted)
