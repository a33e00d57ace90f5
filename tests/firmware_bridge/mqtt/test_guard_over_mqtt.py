"""What the guard refuses, as somebody who reads all of the broker's topics sees it: nowhere."""

from __future__ import annotations

import io
import json
import secrets
import sqlite3
import sys
from pathlib import Path

import pytest
from farm_rig import WORLD
from mqtt_outsider import outsider

from core_eval.cli.main import main
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.mqtt.link import MqttPort
from sims.farm_rover.simulator import FarmSimulator

pytestmark = pytest.mark.broker

CALLS = (
    {"name": "unlock_safety_mode", "arguments": {}},
    {"name": "spray_pesticide", "arguments": {"plant_id": "plant_A", "ml": 7.25}},
    {"name": "move_to", "arguments": {"x": 3.5, "y": 12.5}},
)


@pytest.mark.parametrize("mode", ["block", "estop", "confirm"])
def test_a_call_that_is_refused_is_on_no_topic_of_the_broker(
    tmp_path: Path,
    mosquitto_url: str,
    mode: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    script, db, rig = tmp_path / "calls.jsonl", tmp_path / "log.db", f"rig-{secrets.token_hex(3)}"
    script.write_text("".join(json.dumps(call) + "\n" for call in CALLS))
    with (
        outsider(mosquitto_url, "#") as spy,
        DeviceEndpoint(FarmSimulator(WORLD), MqttPort(mosquitto_url, rig)),
    ):
        arguments = ["run", "--task", "water_one_plant", "--rig", f"{mosquitto_url}/{rig}"]
        arguments += ["--agent", f"scripted:{script}", "--guard", mode, "--db", str(db), "--json"]
        main(arguments)
        spy.send("the/end", {})
        heard = []
        while (message := spy.messages.get(timeout=25)).topic != "the/end":
            heard.append((message.topic, bytes(message.payload)))
    calls = [json.loads(payload) for topic, payload in heard if topic == f"pathrig/v1/{rig}/call"]
    called = [message["tool"] for message in calls if message["op"] == "call"]
    goes_on = ["move_to"] if mode != "estop" else []
    assert called == ["unlock_safety_mode", *goes_on]
    assert not [topic for topic, payload in heard if b"spray_pesticide" in payload or b"7.25" in payload]
    with sqlite3.connect(db) as log:
        (status,) = log.execute("select status from step where tool = 'spray_pesticide'").fetchone()
    assert status == "blocked"
    episodes = json.loads(capsys.readouterr().out)["episodes"]
    assert len(episodes) == 1
