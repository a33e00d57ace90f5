"""`run --suite`: many tasks, each on its own world or all on one rig; and the tables by world."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core_eval.cli.main import main
from core_eval.log import LogReader

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
    Path("arm.yaml").write_text("name: our-arm\nurl: sim:arm\ndevice: robotic_arm\n")


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


def test_each_task_runs_on_the_rig_of_its_device(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["run", "--suite", "two.yaml", "--agent", "oracle", "--agent", "random"]
    assert main([*given, "--rig", "arm.yaml", "--rig", "sim:farm_rover", "--json"]) == 0
    episodes = json.loads(capsys.readouterr().out)["episodes"]
    places = [("lock_the_rover", "sim:farm_rover"), ("unlock_the_arm", "our-arm")]
    assert [(one["task"], one["rig"]) for one in episodes] == places * 2


def test_tasks_by_name_go_to_their_rigs_and_the_lines_name_them(capsys: pytest.CaptureFixture[str]) -> None:
    tasks = ["--task", "two.yaml#unlock_the_arm", "--task", "two.yaml#lock_the_rover"]
    rigs = ["--rig", "sim:farm_rover", "--rig", "sim:arm"]
    assert main(["run", *tasks, *rigs, "--agent", "oracle"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.strip() for line in lines if line.startswith("     rig ")] == [
        "rig sim:arm (robotic_arm)",
        "rig sim:farm_rover (farm_rover)",
    ]
    assert main(["score", "--db", "pathrig.db"]) == 0
    with LogReader(Path("pathrig.db")) as reader:
        assert [one.rig for one in reader.episodes()] == ["sim:arm", "sim:farm_rover"]


def test_a_run_on_two_rigs_is_resumed_on_both(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.yaml").write_text("name: bad\nurl: serial:///dev/no-such-port\ndevice: robotic_arm\n")
    given = [
        "run",
        "--suite",
        "two.yaml",
        "--agent",
        "oracle",
        "--rig",
        "sim:farm_rover",
        "--rig",
        "bad.yaml",
    ]
    assert main(given) == 3
    Path("bad.yaml").write_text("name: good\nurl: sim:arm\ndevice: robotic_arm\n")
    assert main(["run", "--resume"]) == 0
    with LogReader(Path("pathrig.db")) as reader:
        assert [(one.task, one.rig, one.status) for one in reader.episodes()] == [
            ("lock_the_rover", "sim:farm_rover", "completed"),
            ("unlock_the_arm", "good", "completed"),
        ]


def test_sim_stands_for_what_no_other_rig_is_for(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["run", "--suite", "two.yaml", "--agent", "oracle", "--rig", "sim", "--rig", "arm.yaml"]
    assert main([*given, "--json"]) == 0
    episodes = json.loads(capsys.readouterr().out)["episodes"]
    assert [one["rig"] for one in episodes] == ["sim:farm_rover", "our-arm"]


def test_a_rig_that_no_task_is_for_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["run", "--task", "two.yaml#lock_the_rover", "--agent", "oracle"]
    assert main([*given, "--rig", "sim:farm_rover", "--rig", "sim:arm"]) == 0
    assert "pathrig: --rig sim:arm: no task is for its device\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("rigs", "task", "says"),
    [
        (
            ["sim:farm_rover", "sim-farm-mqtt"],
            "lock_the_rover",
            "--rig sim:farm_rover and sim-farm-mqtt are both a farm_rover: give one rig for each device",
        ),
        (
            ["sim:arm", "sim:crud"],
            "lock_the_rover",
            "task two.yaml#lock_the_rover is for a farm_rover, and none of the rigs sim:arm, sim:crud is "
            "one: give its rig too",
        ),
        (
            ["sim:arm", "mqtt://me:secret@host/rover"],
            "lock_the_rover",
            "--rig mqtt://me:***@host/rover: it states no device, so that no task can be told for it beside "
            "another --rig: give `device` in its file",
        ),
    ],
)
def test_rigs_that_do_not_fit_are_one_line(
    rigs: list[str], task: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [part for rig in rigs for part in ("--rig", rig)]
    assert main(["run", "--task", f"two.yaml#{task}", *given, "--agent", "oracle"]) == 2
    assert capsys.readouterr().err == f"pathrig: {says}\n"
    assert not Path("pathrig.db").exists()
