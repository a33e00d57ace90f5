import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from core_eval.cli.main import main

CALLS = [
    {"name": "unlock_safety_mode", "arguments": {}},
    {"name": "move_to", "arguments": {"x": 9.0, "y": 9.0}},
    {"name": "sense_pose", "arguments": {}},
    {"name": "move_to", "arguments": {"x": 3.5, "y": 12.5}},
]
TASK = "water_one_plant"
WAY = "move_to(x~3.5, y~12.5, yaw=*)"


@pytest.fixture(autouse=True)
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def texts(path: str) -> list[str]:
    root = ElementTree.fromstring(Path(path).read_text(encoding="utf-8"))
    return [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]


def test_a_task_alone() -> None:
    assert main(["tasks", "show", TASK, "--svg", "a.svg", "--dot", "a.dot"]) == 0
    assert WAY in texts("a.svg")
    assert not any(re.match(r"([✗↻] )?\d", text) for text in texts("a.svg"))
    assert Path("a.dot").read_text().startswith("digraph")


def test_the_way_of_an_episode_and_of_a_trace_are_the_same() -> None:
    Path("script.jsonl").write_text("".join(json.dumps(call) + "\n" for call in CALLS))
    command = ["run", "--task", TASK, "--rig", "sim:farm_rover", "--agent", "scripted:script.jsonl"]
    assert main([*command, "--db", "log.db"]) == 0
    assert main(["tasks", "show", TASK, "--svg", "a.svg", "--db", "log.db", "--episode", "1"]) == 0
    lines = [{"trace": 1, "task": "another", "calls": []}, {"trace": 2, "task": TASK, "calls": CALLS}]
    Path("traces.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["tasks", "show", TASK, "--svg", "b.svg", "--trace", "traces.jsonl"]) == 0
    assert texts("a.svg") == texts("b.svg")
    assert {"✗ 1: move_to(x=9.0, y=9.0)", "↻ 2: sense_pose(*)", f"3: {WAY}"} <= set(texts("a.svg"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--svg", "a.svg", "--db", "log.db"], "--db DB and --episode N go together"),
        (["--db", "log.db", "--episode", "1"], "give --svg FILE or --dot FILE"),
        (["--svg", "a.svg", "--db", "none.db", "--episode", "1"], "there is no such log"),
        (["--svg", "a.svg", "--trace", "none.jsonl"], "--trace none.jsonl: No such file"),
        (["--svg", "a.svg", "--trace", "empty.jsonl"], "has no trace of task water_one_plant"),
        (["--svg", "a.svg", "--trace", "bad.jsonl"], "bad.jsonl, line 1: 'calls' must be a list"),
        (["--svg", "no/folder.svg"], "--svg no/folder.svg: No such file"),
    ],
)
def test_wrong_options_are_one_clear_line(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("empty.jsonl").write_text("")
    Path("bad.jsonl").write_text(json.dumps({"trace": 1, "task": TASK}) + "\n")
    assert main(["tasks", "show", TASK, *options]) == 2
    assert said in capsys.readouterr().err


def test_an_episode_of_another_task_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--task", TASK, "--rig", "sim:farm_rover", "--agent", "oracle"]) == 0
    capsys.readouterr()
    options = ["--svg", "a.svg", "--db", "pathrig.db", "--episode", "1"]
    assert main(["tasks", "show", "spray_two_plants", *options]) == 2
    assert "is an episode of task water_one_plant, not of spray_two_plants" in capsys.readouterr().err
