"""What is particular to MQTT: topics, QoS, retained status, last will, no delay, brokers that come and go."""

from __future__ import annotations

import json
import queue
import secrets
import shutil
import socket
import subprocess
import threading
import time
from typing import Any

import paho.mqtt.client as mqtt
import pytest
from bridge_rig import Mosquitto, ScriptedDevice, python_child, wait_until
from mqtt_outsider import outsider
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.subscribeoptions import SubscribeOptions

from devices.outcome import StopOutcome
from firmware_bridge.client import RigClient
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.link import LinkError
from firmware_bridge.links import open_link
from firmware_bridge.mqtt.link import MqttLink, MqttPort

pytestmark = pytest.mark.broker


@pytest.fixture
def name() -> str:
    return f"rig-{secrets.token_hex(3)}"


def no_delay(sock: socket.socket | None) -> int:
    assert sock is not None
    return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_host_written_by_others_drives_the_device(mosquitto_url: str, name: str) -> None:
    base = f"pathrig/v1/{name}"
    with (
        DeviceEndpoint(ScriptedDevice(), MqttPort(mosquitto_url, name)),
        outsider(mosquitto_url, f"{base}/#") as host,
    ):
        message, status = host.get("/status")
        assert message.retain and message.qos == 1 and status["state"] == "online"
        host.send(f"{base}/call", {"v": 1, "op": "hello"})
        assert not host.status("online").retain
        host.send(f"{base}/call", {"v": 1, "op": "call", "id": "x", "tool": "echo", "args": {"a": 1}})
        message, sample = host.get("/sample/moisture.plant_A")
        assert message.qos == 0 and sample["value"] == "wet"
        message, truth = host.get("/truth")
        assert message.qos == 1 and truth["id"] == "x"
        message, result = host.get("/result")
        assert message.qos == 1 and result["id"] == "x" and result["status"] == "ok"
        host.send(f"{base}/call", {"op": "ping"})
        assert isinstance(host.get("/result")[1]["m"], int)
        host.send(f"{base}/estop", {"v": 1, "op": "estop"})
        host.status("estop")
        host.send(f"{base}/call", {"op": "reset"})
        host.status("online")


def test_a_retained_call_is_never_run(mosquitto_url: str, name: str) -> None:
    device = ScriptedDevice()
    base = f"pathrig/v1/{name}"
    with outsider(mosquitto_url, f"{base}/#") as host:
        call = {"op": "call", "id": "old", "tool": "echo", "args": {}}
        host.send(f"{base}/call", call, retain=True)
        with DeviceEndpoint(device, MqttPort(mosquitto_url, name)):
            host.status("online")
            host.send(f"{base}/call", {**call, "id": "new"})
            assert host.get("/result")[1]["id"] == "new"
        host.send(f"{base}/call", {}, retain=True)
    assert len(device.executed) == 1


def test_no_delay_is_set_on_both_ends_and_after_a_reconnect(name: str) -> None:
    with Mosquitto() as broker:
        port = MqttPort(broker.url, name)
        with DeviceEndpoint(ScriptedDevice(), port):
            link = MqttLink(f"{broker.url}/{name}")
            with RigClient(link) as client:
                client.open()
                assert no_delay(link.socket()) and no_delay(port.socket())
                broker.kill()
                assert wait_until(lambda: not link.connected)
                broker.start()
                assert client.call("echo", {}).status == "ok"
                assert no_delay(link.socket()) and no_delay(port.socket())


def test_a_broker_that_dies_in_mid_call_costs_time_and_nothing_else(name: str) -> None:
    device = ScriptedDevice()
    with (
        Mosquitto() as broker,
        DeviceEndpoint(device, MqttPort(broker.url, name), watchdog_ms=30_000),
        RigClient(open_link(f"{broker.url}/{name}"), retry_after=0.2) as client,
    ):
        client.open()
        outcomes: list[Any] = []
        for turn in range(3):
            device.started.clear()
            device.go.clear()
            caller = threading.Thread(target=lambda: outcomes.append(client.call("slow", {})))
            caller.start()
            assert device.started.wait(25)
            broker.kill()
            device.go.set()
            broker.start()
            caller.join(25)
            assert [outcome.status for outcome in outcomes] == ["ok"] * (turn + 1)
        assert len(device.executed) == 3


def test_a_broker_that_stays_away_is_a_fault_and_the_call_is_not_run_later(name: str) -> None:
    device = ScriptedDevice()
    with (
        Mosquitto() as broker,
        DeviceEndpoint(device, MqttPort(broker.url, name)),
        RigClient(open_link(f"{broker.url}/{name}")) as client,
    ):
        client.open()
        broker.kill()
        outcome = client.call("echo", {"never": 1}, timeout=0.3)
        assert (outcome.status, outcome.code) == ("fault", "link")
        assert outcome.message is not None and "broker" in outcome.message
        broker.start()
        assert client.call("echo", {"later": 1}).status == "ok"
    assert [arguments for _, arguments in device.executed] == [{"later": 1}]


def test_a_stop_that_found_no_broker_goes_out_when_it_is_back(name: str) -> None:
    device = ScriptedDevice()
    with (
        Mosquitto() as broker,
        DeviceEndpoint(device, MqttPort(broker.url, name), watchdog_ms=60_000),
        RigClient(open_link(f"{broker.url}/{name}")) as client,
    ):
        client.open()
        broker.kill()
        assert client.call("echo", {}, timeout=0.1).code == "link"
        assert client.estop() is StopOutcome.NOT_SENT and "no connection" in client.stop_error
        with pytest.raises(LinkError):
            client.reset()
        assert client.call("echo", {}, timeout=0.1).code == "link"
        broker.start()
        assert device.made_safe.wait(25)
        assert client.call("echo", {}).code == "estop"
    assert not device.executed


def test_the_same_message_twice_from_the_broker_runs_once(mosquitto_url: str, name: str) -> None:
    device = ScriptedDevice()
    base = f"pathrig/v1/{name}"
    call = {"op": "call", "id": "twice", "tool": "echo", "args": {}}
    with (
        DeviceEndpoint(device, MqttPort(mosquitto_url, name)),
        outsider(mosquitto_url, f"{base}/result") as host,
    ):
        host.send(f"{base}/call", call)
        first = host.get("/result")[1]
        host.send(f"{base}/call", call)
        assert host.get("/result")[1] == first
    assert len(device.executed) == 1


DEVICE = """
import sys
sys.path.insert(0, "tests/support")
from bridge_rig import ScriptedDevice
from firmware_bridge.serve import serve_mqtt
serve_mqtt(ScriptedDevice(), sys.argv[1], sys.argv[2], ready=lambda: print("ready", flush=True))
"""


def test_a_device_that_is_killed_is_offline_by_its_last_will(mosquitto_url: str, name: str) -> None:
    with (
        python_child(DEVICE, mosquitto_url, name) as device,
        outsider(mosquitto_url, f"pathrig/v1/{name}/status") as host,
    ):
        assert device.stdout is not None and device.stdout.readline() == "ready\n"
        host.status("online")
        device.kill()
        assert host.status("offline").qos == 1
        with (
            pytest.raises(LinkError, match="offline"),
            RigClient(open_link(f"{mosquitto_url}/{name}")) as client,
        ):
            client.open(0.3)


def test_a_closed_device_leaves_a_retained_offline(mosquitto_url: str, name: str) -> None:
    with DeviceEndpoint(ScriptedDevice(), MqttPort(mosquitto_url, name)):
        pass
    with outsider(mosquitto_url, f"pathrig/v1/{name}/status") as host:
        assert host.status("offline").retain


def with_link(url: str) -> None:
    with RigClient(open_link(url)) as client:
        client.open(0.3)


def test_wrong_password_and_forbidden_topics_are_one_line() -> None:
    with Mosquitto("allow_anonymous false\n") as broker:
        with pytest.raises(LinkError, match="refuses the connection") as failure:
            open_link(f"mqtt://user:secret@127.0.0.1:{broker.port}/rig")
        assert "secret" not in str(failure.value) and "\n" not in str(failure.value)
    broker = Mosquitto()
    acl = broker.folder / "acl"
    acl.write_text("topic read nothing/at/all\n")
    acl.chmod(0o644)
    (broker.folder / "mosquitto.conf").open("a").write(f"allow_anonymous true\nacl_file {acl}\n")
    # mosquitto 2.0 grants every subscription, and then delivers nothing
    with broker, pytest.raises(LinkError, match="no response"):
        with_link(f"{broker.url}/rig")


def test_a_server_that_is_no_broker_is_found_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(LinkError, match="does not answer"):
        MqttLink(f"mqtt://127.0.0.1:{server.getsockname()[1]}/rig", timeout=0.3)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes its certificate with openssl")
def test_tls_with_an_own_certificate_authority(name: str) -> None:
    broker = Mosquitto()
    key, certificate = broker.folder / "key.pem", broker.folder / "cert.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=broker",
    ]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    key.chmod(0o644)
    with (broker.folder / "mosquitto.conf").open("a") as config:
        config.write(f"allow_anonymous true\ncertfile {certificate}\nkeyfile {key}\n")
    url = f"mqtts://127.0.0.1:{broker.port}"
    with broker, DeviceEndpoint(ScriptedDevice(), MqttPort(f"{url}?ca={certificate}", name)):
        link = MqttLink(f"{url}/{name}?ca={certificate}")
        with RigClient(link) as client:
            client.open()
            assert client.call("echo", {"text": "x" * 30_000}).status == "ok"
            assert no_delay(link.socket())
        with pytest.raises(LinkError, match="certificate verify failed"):
            open_link(f"{url}/{name}")


def test_on_version_5_calls_expire_and_carry_their_id(mosquitto_url: str, name: str) -> None:
    seen: queue.Queue[mqtt.MQTTMessage] = queue.Queue()
    listener = mqtt.Client(CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5)
    ready = threading.Event()
    listener.on_message = lambda _c, _d, message: seen.put(message)
    listener.on_subscribe = lambda *_: ready.set()
    listener.connect("127.0.0.1", int(mosquitto_url.rpartition(":")[2]))
    listener.loop_start()
    listener.subscribe([(f"pathrig/v1/{name}/{end}", SubscribeOptions(qos=1)) for end in ("call", "result")])
    assert ready.wait(25)
    with (
        DeviceEndpoint(ScriptedDevice(), MqttPort(f"{mosquitto_url}?version=5", name)),
        RigClient(open_link(f"{mosquitto_url}/{name}?version=5")) as client,
    ):
        client.open()
        assert client.call("echo", {}, call_id="the-call", timeout=33.0).status == "ok"
        found: dict[str, Any] = {}
        while len(found) < 2:
            message = seen.get(timeout=25)
            if json.loads(message.payload).get("id") == "the-call":
                found[message.topic.rpartition("/")[2]] = message.properties
    listener.disconnect()
    listener.loop_stop()
    assert found["call"].CorrelationData == found["result"].CorrelationData == b"the-call"
    assert 30 <= found["call"].MessageExpiryInterval <= 33


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("version=4", "version '4' is not known"),
        ("speed=9", "no option 'speed'"),
        ("ca=x.pem", "write mqtts://"),
    ],
)
def test_invalid_options_of_a_url_are_reported(query: str, says: str) -> None:
    with pytest.raises(LinkError, match=says):
        open_link(f"mqtt://127.0.0.1:1/rig?{query}")


def test_a_broker_that_is_gone_for_good_ends_the_call_when_the_client_has_waited_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("firmware_bridge.requests.LINK_BACK_SECONDS", 0.5)
    device = ScriptedDevice()
    with Mosquitto() as broker, DeviceEndpoint(device, MqttPort(f"{broker.url}/rig")):
        with RigClient(open_link(f"{broker.url}/rig")) as client:
            client.open()
            threading.Thread(target=lambda: device.started.wait(10) and broker.kill(), daemon=True).start()
            began = time.monotonic()
            outcome = client.call("slow", {}, timeout=120.0)
            assert (outcome.status, outcome.code) == ("fault", "link")
            # what was waited for is not waited for again
            with pytest.raises(LinkError, match="is gone"):
                client.regain(0.5)
            assert time.monotonic() - began < 40.0
        device.go.set()
