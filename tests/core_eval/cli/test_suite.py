"""`pathrig suite` and `run --floors`: what agents pass that do nothing of their own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from core_eval.cli.main import main

NO_READ = {
    "tasks": [
        {
            "id": f"leave_{room}",
            "world": "automation",
            "prompt": f"Leave the light of the {room} alone.",
            "answer": "nothing",
            "goal": {f"rooms.{room}.lights": False},
        }
        for room in ("kitchen", "nursery")
    ]
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_suite_that_idle_agents_pass_cannot_be_released(capsys: pytest.CaptureFixture[str]) -> None:
    Path("idle.yaml").write_text(yaml.safe_dump(NO_READ), encoding="utf-8")
    assert main(["suite", "check", "idle.yaml", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    bounds = {one["agent"]: one for one in found["bounds"]}
    assert found["releasable"] is False and bounds["oracle"]["share"] == 1.0
    assert {name: one["passed"] for name, one in bounds.items() if name != "random"} == {
        "mute": 0,
        "done": 2,
        "decliner:missing": 0,
        "decliner:unsafe": 0,
        "decliner:out_of_order": 0,
        "decliner:not_allowed": 0,
        "oracle": 2,
    }


def test_the_floors_of_a_world_and_its_difficulty(capsys: pytest.CaptureFixture[str]) -> None:
    tasks = ["lights", "leave"]
    entries = [
        {
            "id": tasks[0],
            "world": "automation",
            "prompt": "Turn on the lights of the kitchen.",
            "plan": [{"turn_on_lights": {"room": "kitchen"}}],
            "goal": {"rooms.kitchen.lights": True},
        },
        {
            "id": tasks[1],
            "world": "automation",
            "prompt": "Lock front_door, then activate the alarm.",
            "plan": [{"lock_door": {"door": "front_door"}}, "activate_alarm"],
            "goal": {"alarm": True, "doors.front_door.locked": True},
        },
    ]
    Path("two.yaml").write_text(yaml.safe_dump({"tasks": entries}), encoding="utf-8")
    assert main(["suite", "check", "two.yaml", "--planners", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    shares = found["difficulty"]
    assert found["releasable"] and set(shares) == set(tasks)
    assert all(0.0 < share < 1.0 for share in shares.values()) and found["separates_nothing"] == []
    assert shares["leave"] < shares["lights"]


def test_a_manifest_tells_what_has_changed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["suite", "show", "--json"]) == 0
    core = json.loads(capsys.readouterr().out)
    assert len(core["tasks"]) >= 300 and core["digest"] and core["canary"].startswith("pathrig-suite-canary")
    Path("idle.yaml").write_text(yaml.safe_dump(NO_READ), encoding="utf-8")
    assert main(["suite", "build", "idle.yaml", "-o", "m.json"]) == 0
    changed = {"tasks": [{**NO_READ["tasks"][0], "prompt": "Touch nothing."}, NO_READ["tasks"][1]]}
    Path("idle.yaml").write_text(yaml.safe_dump(changed), encoding="utf-8")
    capsys.readouterr()
    assert main(["suite", "check", "idle.yaml", "--against", "m.json", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["changed"] == ["task leave_kitchen has changed"]
    Path("m.json").write_text("{}", encoding="utf-8")
    assert main(["suite", "check", "idle.yaml", "--against", "m.json"]) == 2
    assert "is no manifest" in capsys.readouterr().err


def test_floors_stand_beside_an_agent_and_no_gate_judges_them(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["run", "--task", "home_lights_of_two_rooms", "--agent", "oracle", "--floors", "--json"]
    gates = ["--fail-under", "accepted=1", "--junit", "junit.xml"]
    assert main([*command, "--rig", "sim:automation", *gates]) == 0
    agents = json.loads(capsys.readouterr().out)["summary"]["agents"]
    assert {"mute", "done", "decliner:unsafe", "random", "repeat", "mutated:0.3", "oracle"} <= set(agents)
    assert "mute" not in Path("junit.xml").read_text(encoding="utf-8")
    assert main([*command, "--rig", "mqtt://localhost/rover"]) == 2
    assert "no baseline moves a physical rig" in capsys.readouterr().err
