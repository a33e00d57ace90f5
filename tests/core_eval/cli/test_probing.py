"""Calibration as it is documented, on hardware: the probing calls pass the guard, and nothing else does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from farm_rig import WORLD
from paths import ROOT
from tapped_rig import FieldRover, tapped, tools_on

from core_eval.cli.main import main
from core_eval.log import LogReader

pytestmark = pytest.mark.slow

CALLS = ROOT / "configs" / "probes" / "farm_rover.jsonl"


@pytest.fixture
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rig(folder: Path, url: str, more: str = "") -> None:
    text = f"name: barn\nurl: {url}\ndevice: farm_rover\ntwin: {{world: farm_rover, members: 4}}\n{more}"
    (folder / "barn.yaml").write_text(text)


RUN = ["run", "--task", "probing.task.yaml", "--rig", "barn.yaml", "--db", "runs.db", "--agent"]


def test_the_probing_episode_passes_the_default_guard_of_a_physical_rig(
    in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with tapped(FieldRover(WORLD)) as port:
        rig(in_tmp, f"serial://{port.path}")
        assert main(["rigs", "calibrate", "--rig", "barn.yaml", "--probing", "probing.jsonl"]) == 0
        told = capsys.readouterr().out
        assert " ".join([*RUN[:5], "--agent scripted:probing.jsonl"]) in told
        assert main([*RUN, "scripted:probing.jsonl"]) == 0
    with LogReader(in_tmp / "runs.db") as reader:
        (episode,) = reader.episodes()
        steps = reader.steps(episode.id)
    assert (episode.guard, episode.simulated, episode.status) == ("block", False, "completed")
    assert [(step.tool, step.status) for step in steps] == [
        (json.loads(line)["name"], "ok") for line in CALLS.read_text().splitlines()
    ]


def test_calls_that_the_script_does_not_hold_are_still_blocked_and_the_envelope_holds(in_tmp: Path) -> None:
    with tapped(FieldRover(WORLD)) as port:
        rig(in_tmp, f"serial://{port.path}", "envelope: {water_plant: {liters: {max: 4}}}\n")
        assert main(["rigs", "calibrate", "--rig", "barn.yaml", "--probing", "probing.jsonl"]) == 0
        script = in_tmp / "other.jsonl"
        lines = CALLS.read_text().splitlines()[:3]
        lines += ['{"name": "move_to", "arguments": {"x": 3.0, "y": 3.0}}', lines[0]]
        script.write_text("\n".join(lines) + "\n")
        assert main([*RUN, "scripted:other.jsonl"]) == 0
        # To unlock what is unlocked changes nothing.
        assert tools_on(port) == ["unlock_safety_mode", "move_to", "unlock_safety_mode"]
    with LogReader(in_tmp / "runs.db") as reader:
        (episode,) = reader.episodes()
        steps = reader.steps(episode.id)
    assert [step.status for step in steps] == ["ok", "ok", "blocked", "blocked", "ok"]
    assert "outside the rig's envelope" in (steps[2].guard_reason or "")
    assert "no symbol of the task" in (steps[3].guard_reason or "")


def test_a_call_that_the_rig_refuses_does_not_block_those_after_it(in_tmp: Path) -> None:
    plants = {**WORLD.plants, "plant_C": WORLD.plants["plant_C"].model_copy(update={"ripe": False})}
    with tapped(FieldRover(WORLD.model_copy(update={"plants": plants}))) as port:
        rig(in_tmp, f"serial://{port.path}")
        assert main(["rigs", "calibrate", "--rig", "barn.yaml", "--probing", "probing.jsonl"]) == 0
        assert main([*RUN, "scripted:probing.jsonl"]) == 0
    with LogReader(in_tmp / "runs.db") as reader:
        (episode,) = reader.episodes()
        steps = reader.steps(episode.id)
    refused = [step.tool for step in steps if step.status != "ok"]
    assert refused == ["harvest_fruit"] and len(steps) == len(CALLS.read_text().splitlines())


def test_a_file_of_ones_own_is_not_written_over(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rig(in_tmp, "serial:///dev/ttyACM0")
    own = in_tmp / "probing.task.yaml"
    own.write_text("tasks: mine\n")
    assert main(["rigs", "calibrate", "--rig", "barn.yaml", "--probing", "probing.jsonl"]) == 2
    assert "exists already" in capsys.readouterr().err
    assert own.read_text() == "tasks: mine\n" and not (in_tmp / "probing.jsonl").exists()
