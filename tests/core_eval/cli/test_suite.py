"""`run --suite`: many tasks, each on its own world or all on one rig; and the tables by world."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core_eval.cli.main import main

TASKS = """
tasks:
  - {id: lock_the_rover, world: farm_rover, prompt: 'Lock.', plan: [lock_safety_mode]}
  - {id: unlock_the_arm, world: robotic_arm, prompt: 'Unlock.', plan: [unlock_safety]}
"""


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    Path("two.yaml").write_text(TASKS)


def test_each_task_runs_in_its_own_world(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--suite", "two.yaml", "--agent", "oracle", "--json"]) == 0
    episodes = json.loads(capsys.readouterr().out)["episodes"]
    assert [(one["task"], one["rig"]) for one in episodes] == [
        ("lock_the_rover", "sim:farm_rover"),
        ("unlock_the_arm", "sim:robotic_arm"),
    ]
    assert all(one["path_correctness"] == 1.0 for one in episodes)


def test_the_tables_have_a_row_for_each_world(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--suite", "two.yaml", "--agent", "oracle", "--agent", "random"]) == 0
    capsys.readouterr()
    assert main(["show", "pathrig.db"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    harm, path = (out[out.index(heading) :].splitlines() for heading in ("efficiency length", "PC PC-KTC"))
    assert harm[2].split() == ["farm_rover", "oracle", "1", "0", "0.00", "1.000", "1.0", "0", "0"]
    assert path[2].split()[:4] == ["farm_rover", "oracle", "1", "1.000"]
    assert [line.split()[:2] for line in harm[2:8]] == [
        [world, agent] for world in ("farm_rover", "robotic_arm", "all") for agent in ("oracle", "random")
    ]


def test_on_a_rig_only_its_tasks_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--suite", "two.yaml", "--rig", "sim:arm", "--agent", "oracle", "--json"]) == 0
    captured = capsys.readouterr()
    assert [one["task"] for one in json.loads(captured.out)["episodes"]] == ["unlock_the_arm"]
    assert "pathrig: --suite two.yaml: 1 tasks are left out: they are for other devices" in captured.err


def test_a_rig_without_any_of_its_tasks_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    rover, _, _ = TASKS.rpartition("  - ")
    Path("one.yaml").write_text(rover)
    assert main(["run", "--suite", "one.yaml", "--rig", "sim:arm", "--agent", "oracle"]) == 2
    err = capsys.readouterr().err
    assert err == "pathrig: --suite one.yaml: none of its tasks is for the device of rig sim:arm\n"


def test_a_suite_can_be_resumed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--suite", "two.yaml", "--agent", "oracle", "--resume"]) == 2
    assert "--suite" in capsys.readouterr().err
