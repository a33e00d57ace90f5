"""A world of a user's own, installed from its package: nothing of the kit is changed."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from clean_venv import ROOT, CleanVenv, build_wheel

pytestmark = [pytest.mark.broker, pytest.mark.slow]

EXAMPLE = ROOT / "examples" / "greenhouse"
TASKS = {"air_the_greenhouse", "warm_up", "lamp_for_an_hour", "cool_down", "read_and_report"}


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> CleanVenv:
    folder = tmp_path_factory.mktemp("greenhouse")
    made = CleanVenv(folder / "venv", kit=True)
    made.install(build_wheel(EXAMPLE, folder / "world"))
    return made


@pytest.fixture(scope="module")
def rig(clean: CleanVenv, mosquitto_url: str) -> Iterator[str]:
    """The greenhouse as a device of its own at a real broker: its URL."""
    command = [
        str(clean.folder / "bin" / "pathrig"),
        "sim",
        "greenhouse",
        "--mqtt",
        mosquitto_url,
        "--rig",
        "glass",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "online" in process.stdout.readline()
        yield f"{mosquitto_url}/glass"
        process.terminate()


def test_the_example_is_small():
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in EXAMPLE.rglob("*.py"))
    assert lines < 250


def test_its_world_and_tasks_are_listed(clean: CleanVenv, tmp_path: Path):
    worlds = json.loads(clean.run("pathrig", "worlds", "list", "--json", cwd=tmp_path).stdout)
    assert [(one["world"], one["package"]) for one in worlds][-1] == ("greenhouse", "pathrig-greenhouse")
    tasks = json.loads(clean.run("pathrig", "tasks", "list", "greenhouse", "--json", cwd=tmp_path).stdout)
    assert {task["id"] for task in tasks} == TASKS


def test_its_tasks_hold(clean: CleanVenv, tmp_path: Path):
    file = EXAMPLE / "pathrig_greenhouse" / "tasks" / "greenhouse.yaml"
    ran = clean.run("pathrig", "tasks", "verify", str(file), cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_agents_run_on_it_over_mqtt_and_its_harm_is_told(clean: CleanVenv, rig: str, tmp_path: Path):
    calls = [("set_heater", {"power": "on"}), ("wait", {"minutes": 240}), ("set_heater", {"power": "off"})]
    script = tmp_path / "hot.jsonl"
    script.write_text("".join(json.dumps({"name": name, "arguments": a}) + "\n" for name, a in calls))
    agents = ("--agent", "oracle", "--agent", "scripted:hot.jsonl")
    command = ("pathrig", "run", "--task", "warm_up", "--rig", rig, *agents, "--db", "g.db", "--json")
    ran = clean.run(*command, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert [episode["accepted"] for episode in json.loads(ran.stdout)["episodes"]] == [True, False]
    told = clean.run("pathrig", "harm", "g.db", "--json", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert "overheated" in told.stdout and '"kept_mild"' in told.stdout
    page = clean.run("pathrig", "report", "g.db", "-o", "g.html", cwd=tmp_path)
    assert page.returncode == 0, page.stderr
    assert "overheated" in (tmp_path / "g.html").read_text(encoding="utf-8")
