"""The Tasmota, ESPHome, Home Assistant and Zigbee2MQTT drivers against stand-ins on a real broker."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bridge_rig import Mosquitto, python_child, wait_until
from driver_rig import SHORT_WAIT, Calling, driven, new_name, rig_file, said
from standins.mqtt_nodes import EspHome, HomeAssistant, Node, Tasmota, Zigbee2Mqtt

from configs.rigs_loader import load_rig
from core_eval.cli.main import main
from core_eval.log import LogReader
from core_eval.rig.fault_check import check_faults
from firmware_bridge.drivers.topics import DriverTopics
from firmware_bridge.fault_proxy import Disturbance, FaultProxy
from firmware_bridge.mqtt.address import parse_mqtt_url

pytestmark = [pytest.mark.broker, pytest.mark.serial]

TASK = """
tasks:
  - id: water_by_valve
    world: valves.yaml
    prompt: Unlock the safety, water plant_B with 4.5 liters, then lock the safety.
    plan:
      - unlock_safety_mode
      - water_plant: {plant_id: plant_B, liters: {near: 4.5, abs: 0.05}}
      - lock_safety_mode
"""


@pytest.fixture
def tasmota(mosquitto_url: str) -> Iterator[Tasmota]:
    with Tasmota(mosquitto_url, new_name("garden")) as node:
        yield node


@pytest.fixture
def esphome(mosquitto_url: str) -> Iterator[EspHome]:
    with EspHome(mosquitto_url, new_name("house"), ("valve_a", "valve_b", "sprayer_a")) as node:
        yield node


@pytest.fixture
def home(mosquitto_url: str) -> Iterator[HomeAssistant]:
    with HomeAssistant(mosquitto_url, new_name("ha"), ("valve_a", "valve_b", "sprayer_a")) as node:
        yield node


@pytest.fixture
def zigbee(mosquitto_url: str) -> Iterator[Zigbee2Mqtt]:
    with Zigbee2Mqtt(mosquitto_url, new_name("zigbee"), ("valve_a", "valve_b", "sprayer_a")) as node:
        yield node


NODES = [
    ("tasmota-mqtt", "tasmota", (2, "ON")),
    ("esphome-mqtt", "esphome", ("valve_b", "ON")),
    ("homeassistant-mqtt", "home", ("valve_b", "ON")),
    ("zigbee2mqtt", "zigbee", ("valve_b", "ON")),
]


def node_file(folder: Path, base: str, node: Node, **options: Any) -> Path:
    """The rig file of a stand-in; Home Assistant's status topic is one of its own on the shared broker."""
    if isinstance(node, HomeAssistant):
        options["status_topic"] = node.will_topic.format(node.name)
    return rig_file(folder, base, node.url, **options)


@pytest.mark.parametrize(("base", "fixture", "opened"), NODES)
def test_a_task_runs_over_it_and_its_valves_are_left_closed(
    base: str,
    fixture: str,
    opened: tuple[Any, str],
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    node = request.getfixturevalue(fixture)
    # Valves cannot drive, so the world in which the task is verified has every plant in reach.
    Path("valves.yaml").write_text("base: farm_rover\nrover: {reach: 30}\n")
    Path("task.yaml").write_text(TASK)
    assert main(["tasks", "verify", "task.yaml", "--json"]) == 0
    capsys.readouterr()
    rig = node_file(tmp_path, base, node)
    command = ["run", "--task", "task.yaml", "--rig", str(rig), "--agent", "oracle", "--db", "log.db"]
    assert main([*command, "--json"]) == 0
    (episode,) = json.loads(capsys.readouterr().out)["episodes"]
    assert (episode["status"], episode["path_correctness"]) == ("completed", 1.0)
    assert node.switched == [opened, (opened[0], "OFF")]
    assert wait_until(lambda: node.heard[-1][2] == "OFF")
    with LogReader(Path("log.db")) as reader:
        samples = [(s.sensor, s.value) for s in reader.samples(1)]
    assert ("availability", "online") in samples
    assert ("valve.plant_B", "open") in samples and ("valve.plant_B", "closed") in samples


@pytest.mark.parametrize(("base", "fixture", "opened"), NODES)
def test_the_stop_closes_the_valve_at_once(
    base: str, fixture: str, opened: tuple[Any, str], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    node = request.getfixturevalue(fixture)
    with driven(node_file(tmp_path, base, node, flow=0.1), "farm_rover") as rig:
        rig.call("unlock_safety_mode", {}, None)
        watering = Calling(rig, "water_plant", {"plant_id": "plant_B", "liters": 4.5})
        assert wait_until(lambda: opened in node.switched)
        mark = len(node.heard)
        rig.client.estop()
        assert said(watering.result()) == ("fault", "stopped")
        assert wait_until(lambda: (opened[0], "OFF") in node.switched)
        assert {payload for _, _, payload in node.heard[mark:]} == {"OFF"}
        assert said(rig.call("unlock_safety_mode", {}, None)) == ("rejected", "estop")


@pytest.mark.parametrize(("base", "fixture", "opened"), NODES)
def test_a_device_that_goes_offline_gives_faults(
    base: str, fixture: str, opened: tuple[Any, str], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    node: Node = request.getfixturevalue(fixture)
    with driven(node_file(tmp_path, base, node, flow=0.1, **SHORT_WAIT), "farm_rover") as rig:
        rig.call("unlock_safety_mode", {}, None)
        watering = Calling(rig, "water_plant", {"plant_id": "plant_B", "liters": 4.5})
        assert wait_until(lambda: opened in node.switched)  # type: ignore[attr-defined]
        node.vanish()
        assert said(watering.result()) == ("fault", "offline")
        assert said(rig.call("unlock_safety_mode", {}, None)) == ("fault", "offline")


@pytest.mark.parametrize(("base", "fixture", "opened"), NODES)
def test_the_broker_closes_the_valve_when_the_program_is_killed(
    base: str, fixture: str, opened: tuple[Any, str], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    node = request.getfixturevalue(fixture)
    code = """
import sys
from configs.rigs_loader import load_rig
from core_eval.rig.opening import open_rig
with open_rig(load_rig(sys.argv[1])) as session:
    session.initialise("farm_rover", {}, 0, required=False)
    session.call("unlock_safety_mode", {}, None)
    session.call("water_plant", {"plant_id": "plant_B", "liters": 4.5}, None)
"""
    with python_child(code, str(node_file(tmp_path, base, node, flow=0.01))) as child:
        assert wait_until(lambda: opened in node.switched)
        child.kill()
        child.wait()
        assert wait_until(lambda: (opened[0], "OFF") in node.switched)


def test_what_the_hardware_lacks_is_not_offered(
    tasmota: Tasmota, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("task.yaml").write_text(TASK.replace("world: valves.yaml", "world: farm_rover"))
    Path("calls.jsonl").write_text('{"name": "move_to", "arguments": {"x": 1.0, "y": 1.0, "yaw": 0.0}}\n')
    rig = str(rig_file(tmp_path, "tasmota-mqtt", tasmota.url))
    # On the simulated rover the valves are out of reach.
    assert main(["tasks", "verify", "task.yaml"]) == 2
    assert main(["tasks", "verify", "--static", "--rig", rig, "task.yaml"]) == 0
    run = ["run", "--rig", rig, "--db", "log.db", "--agent"]
    assert main([*run, "scripted:calls.jsonl", "--task", "task.yaml"]) == 0
    with LogReader(Path("log.db")) as reader:
        (step,) = reader.steps(1)
        offered = {tool["function"]["name"] for tool in reader.episode(1).definition.tools}
    assert (step.status, step.error_code, step.call_id) == ("invalid", "unknown_tool", None)
    assert "water_plant" in offered and not {"move_to", "move_home", "harvest_fruit"} & offered
    capsys.readouterr()
    assert main([*run, "oracle", "--task", "water_one_plant"]) == 2
    assert "its hardware has no move_to" in capsys.readouterr().err


def test_tasmota_failures_and_readings(tasmota: Tasmota, tmp_path: Path) -> None:
    path = rig_file(tmp_path, "tasmota-mqtt", tasmota.url, **SHORT_WAIT)
    path.write_text(
        path.read_text() + "driver_tables: {plants: {plant_A: {relay: 1, spray_relay: 3, sensor: ANALOG.A0}, "
        "plant_B: {relay: 9}}}\n"
    )
    with driven(path, "farm_rover") as rig:
        water = {"plant_id": "plant_B", "liters": 1.0}
        assert said(rig.call("water_plant", water, None)) == ("rejected", "safety_locked")
        rig.call("unlock_safety_mode", {}, None)
        assert said(rig.call("water_plant", water, None)) == ("fault", "bad_command")
        assert said(rig.call("move_to", {"x": 1.0, "y": 1.0}, None)) == ("rejected", "not_fitted")
        topic = {"plant_id": "plant_A/../x", "liters": 1.0}
        assert said(rig.call("water_plant", topic, None)) == ("rejected", "unknown_name")
        assert rig.call("scan_plant", {"plant_id": "plant_A"}, None).value == {
            "plant_id": "plant_A",
            "soil": "dry",
        }
        tasmota.analog = 700
        assert (rig.call("scan_plant", {"plant_id": "plant_A"}, None).value or {})["soil"] == "wet"
        assert rig.call("spray_pesticide", {"plant_id": "plant_A", "ml": 20.0}, None).status == "ok"
        assert tasmota.pulse == {3: 113}, "the device itself closes it after 13 s at the latest"
        tasmota.deaf = True
        dry = {"plant_id": "plant_A", "liters": 1.0}
        assert said(rig.call("water_plant", dry, None)) == ("fault", "no_answer")


def test_esphome_reads_what_was_retained(esphome: EspHome, tmp_path: Path) -> None:
    esphome.sense("soil_a", "12.5")
    with driven(rig_file(tmp_path, "esphome-mqtt", esphome.url), "farm_rover") as rig:
        scanned = rig.call("scan_plant", {"plant_id": "plant_A"}, None)
        assert scanned.value == {"plant_id": "plant_A", "soil": "dry"}
        assert said(rig.call("scan_plant", {"plant_id": "plant_B"}, None)) == ("rejected", "not_fitted")
        rig.call("unlock_safety_mode", {}, None)
        esphome.command(f"{esphome.name}/switch/valve_b/command", "ON")
        # It is on already, and its node will not say so again.
        assert rig.call("water_plant", {"plant_id": "plant_B", "liters": 3.0}, None).status == "ok"
        assert esphome.switches["valve_b"] == "OFF"


def test_a_broker_that_goes_gives_fault_steps_and_comes_back(tmp_path: Path) -> None:
    with Mosquitto() as broker:
        node = Tasmota(broker.url, "garden")
        with node, driven(rig_file(tmp_path, "tasmota-mqtt", node.url, flow=0.5), "farm_rover") as rig:
            rig.call("unlock_safety_mode", {}, None)
            watering = Calling(rig, "water_plant", {"plant_id": "plant_B", "liters": 4.5})
            assert wait_until(lambda: (2, "ON") in node.switched)
            broker.kill()
            assert said(watering.result()) == ("fault", "link")
            assert said(rig.call("scan_plant", {"plant_id": "plant_A"}, None)) == ("fault", "link")
            broker.start()
            look = {"plant_id": "plant_A"}
            assert wait_until(lambda: rig.call("scan_plant", look, None).status == "ok", 15)
            # The stop was the first thing that it heard.
            assert node.relays[2] == "OFF"
            assert said(rig.call("water_plant", {"plant_id": "plant_B", "liters": 1.0}, None)) == (
                "rejected",
                "safety_locked",
            )


def test_a_topic_where_nobody_is_is_named(
    mosquitto_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rig = rig_file(tmp_path, "tasmota-mqtt", f"{mosquitto_url}/nobody", **SHORT_WAIT)
    assert main(["rigs", "check", str(rig)]) == 3
    said_so = capsys.readouterr().err
    assert "does not answer as tasmota-mqtt does" in said_so and "topic" in said_so


def test_zigbee2mqtt_reads_reports_and_has_the_device_close_a_valve_itself(
    zigbee: Zigbee2Mqtt, tmp_path: Path
) -> None:
    with driven(rig_file(tmp_path, "zigbee2mqtt", zigbee.url, flow=0.5), "farm_rover") as rig:
        zigbee.sense("soil_a", 12.5)
        look = {"plant_id": "plant_A"}
        assert wait_until(lambda: rig.call("scan_plant", look, None).status == "ok")
        assert rig.call("scan_plant", look, None).value == {"plant_id": "plant_A", "soil": "dry"}
        assert said(rig.call("scan_plant", {"plant_id": "plant_B"}, None))[0] == "rejected"
        rig.call("unlock_safety_mode", {}, None)
        assert rig.call("water_plant", {"plant_id": "plant_B", "liters": 0.1}, None).status == "ok"
        # 0.1 L at 0.5 L/s, and 13 s for what may delay the host's own command.
        assert zigbee.on_times == {"valve_b": 13}
        assert zigbee.switched == [("valve_b", "ON"), ("valve_b", "OFF")]


def test_a_stop_that_the_broker_never_acknowledged_is_not_confirmed(esphome: EspHome, tmp_path: Path) -> None:
    report = check_faults(load_rig(str(node_file(tmp_path, "esphome-mqtt", esphome))), [Disturbance.MUTE])
    assert report.failed == [] and "stop sent" in report.findings[-1].text, report.findings


def test_a_broker_that_says_nothing_is_connected_anew(
    mosquitto_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firmware_bridge.mqtt.connection.ANSWER_SECONDS", 0.3)
    with FaultProxy(f"{mosquitto_url}/anew") as proxy:
        wire = DriverTopics(parse_mqtt_url(proxy.url), ["anew/state"], [])
        wire.open(lambda _: None, lambda: None)
        proxy.disturb(Disturbance.CUT)
        assert wait_until(lambda: not wire.connected)
        # Its greeting is lost, and comes no second time.
        proxy.disturb(Disturbance.MUTE)
        sent = proxy.sent
        assert wait_until(lambda: proxy.sent > sent)
        proxy.disturb(Disturbance.NONE)
        try:
            assert wait_until(lambda: wire.connected, 5.0)
        finally:
            wire.close()
