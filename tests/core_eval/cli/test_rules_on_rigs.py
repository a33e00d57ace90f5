"""`run --rules` on rigs behind a broker and a serial line: the guard is on the host's side."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from configs.worlds_loader import load_world, make_simulator
from core_eval.cli.main import main
from core_eval.log import LogReader
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.mqtt.link import MqttPort
from firmware_bridge.serial.port import SerialPort

RULES = """
rules:
  - id: unlock-first
    sentence: Unlock before you move.
    precedence: [unlock_safety_mode, move_to]
    action: block
  - id: given
    sentence: Pour what you were told to.
    grounded: {water_plant: [liters]}
    action: block
"""
MOVE = {"name": "move_to", "arguments": {"x": 3.5, "y": 12.5}}
CALLS = [
    MOVE,
    {"name": "unlock_safety_mode"},
    MOVE,
    {"name": "water_plant", "arguments": {"plant_id": "plant_B", "liters": 4.6}},
    {"name": "water_plant", "arguments": {"plant_id": "plant_B", "liters": 4.5}},
]


@pytest.fixture(params=["mqtt", pytest.param("serial", marks=pytest.mark.serial)])
def url(request: pytest.FixtureRequest, embedded_broker_url: str) -> Iterator[str]:
    """A rig that the host knows by its address alone."""
    port: MqttPort | SerialPort
    if request.param == "mqtt":
        name = f"rig-{secrets.token_hex(3)}"
        port, found = MqttPort(embedded_broker_url, name), f"{embedded_broker_url}/{name}"
    else:
        port = SerialPort("pty")
        found = f"serial://{port.path}?baud=115200"
    with DeviceEndpoint(make_simulator(load_world("farm_rover")), port):
        yield found


def test_a_rule_refuses_the_call_before_it_reaches_the_rig(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules.yaml").write_text(RULES)
    Path("calls.jsonl").write_text("".join(f"{json.dumps(call)}\n" for call in CALLS))
    run = ["run", "--task", "water_one_plant", "--rig", url, "--agent", "scripted:calls.jsonl"]
    assert main([*run, "--rules", "rules.yaml", "--guard", "observe"]) == 0
    with LogReader(Path("pathrig.db")) as reader:
        (episode,) = reader.episodes()
        steps, broken = reader.steps(episode.id), reader.broken_rules(episode.id)
    assert [step.status for step in steps] == ["blocked", "ok", "ok", "blocked", "ok"]
    # What was refused has no id: it was never sent.
    assert [step.call_id is None for step in steps] == [True, False, False, True, False]
    assert [(one["rule"], one["tier"]) for one in broken] == [
        ("unlock-first", "prevented"),
        ("given", "prevented"),
    ]
    assert broken[1]["evidence"] == "given nowhere: liters=4.6"
    assert "Pour what you were told to. (given nowhere: liters=4.6)" in capsys.readouterr().out
