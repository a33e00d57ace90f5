"""Home Assistant's discovery: what a real broker retains of a rig, used as Home Assistant would."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jinja2
import paho.mqtt.client as mqtt
import pytest
from bridge_rig import wait_until
from own_broker import made

from configs.errors import ConfigError
from configs.rigs_loader import load_rig
from configs.worlds_loader import load_world, make_simulator
from core_eval.cli.main import main
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.mqtt.link import MqttPort
from firmware_bridge.stop_input import StopInput

pytestmark = pytest.mark.broker


class Listener:
    """A client that is not ours: what it received by topic."""

    def __init__(self, url: str, *filters: str) -> None:
        self.received: dict[str, bytes] = {}
        host, _, port = url.removeprefix("mqtt://").partition(":")
        self.client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
        self.client.on_message = self._take
        ready = threading.Event()
        self.client.on_subscribe = lambda *_: ready.set()
        self.client.connect(host, int(port))
        self.client.loop_start()
        self.client.subscribe([(one, 1) for one in filters])
        assert ready.wait(25)

    def _take(self, _client: Any, _data: Any, message: mqtt.MQTTMessage) -> None:
        self.received[message.topic] = bytes(message.payload)

    def entities(self) -> dict[str, dict[str, Any]]:
        found = {
            topic: json.loads(payload)
            for topic, payload in self.received.items()
            if topic.endswith("/config") and payload
        }
        return {
            topic.split("/")[3]: {"component": topic.split("/")[1], **one} for topic, one in found.items()
        }


@contextmanager
def listening(url: str, *filters: str) -> Iterator[Listener]:
    listener = Listener(url, *filters)
    try:
        yield listener
    finally:
        listener.client.disconnect()
        listener.client.loop_stop()


@pytest.fixture
def rover(mosquitto_url: str, tmp_path: Path) -> Iterator[tuple[str, str, Path]]:
    """The broker, and a served rover with a rig file that asks for discovery."""
    name = f"rover-{secrets.token_hex(3)}"
    file = tmp_path / "rover.yaml"
    file.write_text(
        f"name: {name}\nurl: {mosquitto_url}/{name}\nworld: farm_rover\ndiscovery: homeassistant\n"
    )
    simulator = make_simulator(load_world("farm_rover"))
    port = MqttPort(mosquitto_url, name)
    with DeviceEndpoint(simulator, port, watchdog_ms=30_000, stop_input=StopInput()):
        yield mosquitto_url, name, file


def test_a_run_leaves_entities_that_read_the_rigs_own_topics(
    rover: tuple[str, str, Path], tmp_path: Path
) -> None:
    url, name, file = rover
    run = ["run", "--task", "water_one_plant", "--rig", str(file), "--agent", "oracle"]
    assert main([*run, "--db", str(tmp_path / "a.db")]) == 0
    node = f"pathrig_{name}"
    # Read after the run: only what the broker retained.
    with listening(url, f"homeassistant/+/{node}/+/config", f"pathrig/v1/{name}/status") as other:
        assert wait_until(lambda: len(other.entities()) >= 7 and len(other.received) > 7)
        entities = other.entities()
        status = json.loads(other.received[f"pathrig/v1/{name}/status"])
    assert {"state", "stop", "moisture_plant_B", "water_tank_low"} <= entities.keys()
    assert len({one["unique_id"] for one in entities.values()}) == len(entities)
    assert entities["water_tank_low"]["component"] == "binary_sensor"
    assert entities["moisture_plant_B"]["component"] == "sensor"
    template: Callable[[str, Any], str] = lambda text, value: jinja2.Template(text).render(value_json=value)  # noqa: E731
    state = entities["state"]
    assert template(state["value_template"], status) == "estop"
    assert template(state["availability_template"], status) == "online"
    assert template(state["availability_template"], {"state": "offline"}) == "offline"
    stop_input = entities["stop_input"]
    assert template(stop_input["value_template"], status) == "released"
    assert template(stop_input["value_template"], {"state": "offline"}) == "unknown"
    low = entities["water_tank_low"]
    assert template(low["value_template"], {"value": True}) == low["payload_on"]
    assert template(low["value_template"], {"value": False}) == low["payload_off"]


def test_the_readings_come_on_the_topics_that_are_announced(
    rover: tuple[str, str, Path], tmp_path: Path
) -> None:
    url, name, file = rover
    with listening(url, "homeassistant/#", f"pathrig/v1/{name}/sample/#") as other:
        run = ["run", "--task", "water_one_plant", "--rig", str(file), "--agent", "oracle"]
        assert main([*run, "--db", str(tmp_path / "a.db")]) == 0
        assert wait_until(lambda: len(other.entities()) >= 7)
        sensors = {
            key: one for key, one in other.entities().items() if "/sample/" in one.get("state_topic", "")
        }
        for one in sensors.values():
            assert "value" in json.loads(other.received[one["state_topic"]])


def test_the_stop_button_stops_the_rig(rover: tuple[str, str, Path]) -> None:
    url, name, file = rover
    assert main(["rigs", "announce", str(file), "--seconds", "0"]) == 0
    status = f"pathrig/v1/{name}/status"
    with listening(url, "homeassistant/#", status) as other:
        assert wait_until(lambda: "stop" in other.entities() and status in other.received)
        assert json.loads(other.received[status])["state"] == "online"
        button = other.entities()["stop"]
        other.client.publish(button["command_topic"], button["payload_press"], button["qos"])
        assert wait_until(lambda: json.loads(other.received[status])["state"] == "estop")


def test_announcements_are_removed_and_those_of_others_stay(
    rover: tuple[str, str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    url, name, file = rover
    assert main(["rigs", "announce", str(file), "--seconds", "0"]) == 0
    with listening(url, "homeassistant/#") as other:
        other.client.publish("homeassistant/sensor/other/state/config", b"{}", 1, True).wait_for_publish(5)
    assert main(["rigs", "announce", str(file), "--remove"]) == 0
    assert "3 announcements removed" in capsys.readouterr().out
    with listening(url, "homeassistant/#") as other:
        assert wait_until(lambda: "homeassistant/sensor/other/state/config" in other.received)
        assert not any(f"pathrig_{name}" in topic for topic in other.received)


def test_a_broker_that_drops_the_announcements_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files, broker = made(tmp_path / "broker")
    with (
        broker,
        DeviceEndpoint(make_simulator(load_world("farm_rover")), MqttPort(files.devices[0].url, "rover")),
    ):
        assert main(["rigs", "announce", files.hosts[0].url, "--seconds", "0"]) == 3
    error = capsys.readouterr().err
    assert (
        "the broker does not retain homeassistant/button/pathrig_rover/stop/config; check its access list"
        in error
    )


@pytest.mark.parametrize(
    "text",
    [
        "name: x\nurl: sim:farm_rover\nworld: farm_rover\ndiscovery: homeassistant\n",
        "name: x\nurl: serial:///dev/ttyACM0\ndiscovery: homeassistant\n",
        "base: tasmota-mqtt\ndiscovery: homeassistant\n",
        "base: sim-farm-mqtt\ndiscovery: homeassistant\n",
        "name: x\nurl: mqtt://localhost/x\ndiscovery: openhab\n",
        "name: x\nurl: mqtt://localhost/x\ndiscovery_prefix: a/#\n",
    ],
)
def test_what_cannot_be_announced_is_refused_with_its_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "rig.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError) as wrong:
        load_rig(str(file))
    assert "rig.yaml:" in str(wrong.value) and "discovery" in str(wrong.value)
