"""Devices and the broker as processes: every way out leaves the rig safe, and nothing outlives its parent."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import paho.mqtt.publish
import pytest
from bridge_rig import ScriptedDevice, free_port, python_child, wait_until
from paths import ROOT

from firmware_bridge.broker.process import EmbeddedBroker, start_broker_process
from firmware_bridge.client import RigClient
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.link import LinkError
from firmware_bridge.links import open_link
from firmware_bridge.mqtt.link import MqttPort
from firmware_bridge.serial.port import SerialPort

pytestmark = [pytest.mark.broker, pytest.mark.serial]

DEVICE = """
import sys, pathlib
sys.path.insert(0, "tests/support")
from bridge_rig import ScriptedDevice
from firmware_bridge.serve import serve_mqtt, serve_serial
device = ScriptedDevice()
say = lambda *words: print("ready", *words, flush=True)
if sys.argv[1] == "mqtt":
    serve_mqtt(device, sys.argv[2], sys.argv[3], ready=say)
else:
    serve_serial(device, "pty", ready=say)
print("safe" if device.made_safe.is_set() else "not safe", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_device_safe_and_offline(mosquitto_url: str, number: signal.Signals) -> None:
    name = f"rig-{secrets.token_hex(3)}"
    with python_child(DEVICE, "mqtt", mosquitto_url, name) as device:
        assert device.stdout is not None and device.stdout.readline() == "ready\n"
        with RigClient(open_link(f"{mosquitto_url}/{name}")) as client:
            assert client.open().state == "online"
            device.send_signal(number)
            assert wait_until(lambda: client.status is not None and client.status.state == "offline")
        assert device.stdout.readline() == "safe\n"
        assert device.wait(60) == 0


def test_a_serial_device_prints_its_path_and_ends_safe_with_its_host_connected() -> None:
    with python_child(DEVICE, "serial") as device:
        assert device.stdout is not None
        path = device.stdout.readline().split()[1]
        with RigClient(open_link(f"serial://{path}")) as client:
            client.open()
            assert client.call("echo", {"n": 1}).status == "ok"
            device.terminate()
            assert device.stdout.readline() == "safe\n"
            assert device.wait(60) == 0
            assert client.call("echo", {}).status == "fault"


def test_a_device_that_finds_no_broker_says_so() -> None:
    with pytest.raises(LinkError, match="cannot reach the broker"):
        DeviceEndpoint(ScriptedDevice(), MqttPort(f"mqtt://127.0.0.1:{free_port()}", "rig")).start()
    with pytest.raises(LinkError, match="cannot open the serial port"):
        SerialPort("/dev/does-not-exist")


PARENT = """
import subprocess, sys
child = '''
import sys
sys.path.insert(0, "tests/support")
from bridge_rig import ScriptedDevice
from firmware_bridge.serve import serve_serial
serve_serial(ScriptedDevice(), "pty", ready=lambda path: print("ready", flush=True), exit_with_parent=True)
'''
process = subprocess.Popen([sys.executable, "-c", child], stdout=subprocess.PIPE, text=True)
process.stdout.readline()
from firmware_bridge.broker.process import start_broker_process
broker = start_broker_process()
print(process.pid, broker.pid, flush=True)
sys.stdin.read()
"""


def gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


def test_simulator_and_broker_do_not_outlive_a_killed_harness() -> None:
    command = [sys.executable, "-c", PARENT]
    folder = ROOT
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder
    ) as parent:
        assert parent.stdout is not None
        device, broker = map(int, parent.stdout.readline().split())
        assert not gone(device) and not gone(broker)
        parent.kill()
        assert wait_until(lambda: gone(device) and gone(broker))


HOST = """
import sys
from firmware_bridge.client import RigClient
from firmware_bridge.links import open_link
client = RigClient(open_link(sys.argv[1]))
client.open()
print("open", flush=True)
client.call("slow", {})
"""


@pytest.mark.parametrize("kind", ["mqtt", "serial"])
def test_kill_9_of_the_host_in_mid_call_makes_the_device_safe(kind: str, mosquitto_url: str) -> None:
    device = ScriptedDevice()
    name = f"rig-{secrets.token_hex(3)}"
    port = SerialPort("pty") if kind == "serial" else MqttPort(mosquitto_url, name)
    url = f"serial://{port.path}" if isinstance(port, SerialPort) else f"{mosquitto_url}/{name}"
    with DeviceEndpoint(device, port, watchdog_ms=2500) as endpoint, python_child(HOST, url) as host:
        assert host.stdout is not None and host.stdout.readline() == "open\n"
        assert device.started.wait(25)
        time.sleep(3.0)
        assert not device.made_safe.is_set(), "its host pings"
        os.kill(host.pid, signal.SIGKILL)
        assert device.made_safe.wait(25)
        assert endpoint.state == "estop"


def test_the_embedded_broker_in_this_process() -> None:
    with EmbeddedBroker() as broker:
        with DeviceEndpoint(ScriptedDevice(), MqttPort(broker.url, "r")) as endpoint:
            with RigClient(open_link(f"{broker.url}/r")) as client:
                client.open()
                assert client.call("echo", {}).status == "ok"
            assert wait_until(lambda: endpoint.state == "estop")
        port = broker.port
        with pytest.raises(LinkError, match=f"cannot listen on 127.0.0.1:{port}"):
            EmbeddedBroker(port).start()
    with EmbeddedBroker(port):
        paho.mqtt.publish.single("a", "b", qos=1, hostname="127.0.0.1", port=port)


def test_a_broker_process_whose_port_is_taken_says_so(embedded_broker_url: str) -> None:
    with pytest.raises(LinkError, match="cannot listen"):
        start_broker_process(int(embedded_broker_url.rpartition(":")[2]))


def test_the_embedded_broker_publishes_last_wills_and_keeps_status(embedded_broker_url: str) -> None:
    name = f"rig-{secrets.token_hex(3)}"
    with python_child(DEVICE, "mqtt", embedded_broker_url, name) as device:
        assert device.stdout is not None and device.stdout.readline() == "ready\n"
        with RigClient(open_link(f"{embedded_broker_url}/{name}")) as client:
            client.open()
            device.kill()
            assert wait_until(lambda: client.status is not None and client.status.state == "offline")
    with (
        pytest.raises(LinkError, match="offline"),
        RigClient(open_link(f"{embedded_broker_url}/{name}")) as client,
    ):
        client.open(0.5)
