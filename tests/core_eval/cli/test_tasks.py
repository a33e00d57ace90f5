"""`pathrig tasks`, and scoring, on a CORE file of which some records are malformed."""

import gzip
import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from configs import difficulty
from configs.difficulty import Measured, MeasuredTask
from configs.suite_manifest import MeasuredSuite, task_digest
from configs.tasks_loader import load_task
from core_eval.cli.main import main

GOOD: dict[str, Any] = {
    "prompt_id": 1,
    "world": "their world",
    "prompt": "Go.",
    "nodes": [
        {"name": "a", "is_final": False, "transitions": [{"symbols": ["go"], "from": "a", "to": "b"}]},
        {"name": "b", "is_final": True, "transitions": []},
    ],
    "alphabet": {"go": {"name": "go", "arguments": {}}, "back": {"name": "back", "arguments": {}}},
}


def record(ident: int, **changes: Any) -> dict[str, Any]:
    return {**deepcopy(GOOD), "prompt_id": ident, **changes}


def cyclic(ident: int) -> dict[str, Any]:
    changed = record(ident)
    changed["nodes"][1]["transitions"] = [{"symbols": ["back"], "from": "b", "to": "a"}]
    return changed


def lost(ident: int) -> dict[str, Any]:
    changed = record(ident)
    changed["nodes"][0]["transitions"][0]["to"] = "nowhere"
    return changed


RECORDS = [lost(5), record(1), cyclic(2), record(6, alphabet=3), 7, record(1)]


@pytest.fixture(autouse=True)
def core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # Nothing in its name says that it is JSON.
    Path("d6").write_text(json.dumps(RECORDS))


def test_the_sound_tasks_are_listed_and_the_others_told_one_by_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["tasks", "list", "d6", "--json"]) == 2
    captured = capsys.readouterr()
    assert [task["id"] for task in json.loads(captured.out)] == ["1", "2"]
    said = captured.err.splitlines()
    assert all(line.startswith("pathrig: d6: ") for line in said)
    assert [line.split(": ")[2] for line in said] == ["task 5", "task 6", "task 6", "record 4", "task 1"]
    assert "goes to 'nowhere', which is not declared" in said[0]
    assert "used twice" in said[-1]


def test_a_sound_file_is_listed_and_done(capsys: pytest.CaptureFixture[str]) -> None:
    Path("d6").write_text(json.dumps([record(1)]))
    assert main(["tasks", "list", "d6"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("wanted", "status", "words"),
    [
        ("1", 0, []),
        ("2", 0, []),
        ("5", 2, ["task 5", "'nowhere'"]),
        ("6", 2, ["task 6", "'alphabet'"]),
        ("77", 2, ["no task '77'"]),
    ],
)
def test_show_answers_about_the_task_that_is_asked_for(
    wanted: str, status: int, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tasks", "show", f"d6#{wanted}"]) == status
    captured = capsys.readouterr()
    assert all(word in captured.err for word in words)
    assert captured.err.count("\n") == (1 if words else 0)
    assert bool(captured.out) is not bool(words)


def test_verify_goes_on_after_a_malformed_record(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "verify", "d6", "--json"]) == 2
    captured = capsys.readouterr()
    results = {result["task"]: result for result in json.loads(captured.out)}
    assert list(results) == ["1", "2", "5", "6", "record 4", "record 5"]
    assert [task for task, result in results.items() if result["malformed"]] == list(results)[2:]
    assert results["1"]["faults"] == [] and results["1"]["paths"] == 1
    assert "'nowhere'" in results["5"]["faults"][0]
    assert "task 2: progress edges form a cycle" in captured.err
    assert captured.err.splitlines()[-1].startswith("pathrig: these tasks fail: 5, 6, record 4, record 5")
    assert main(["tasks", "verify", "d6"]) == 2
    out = capsys.readouterr().out
    assert re.search(r"^5 .* MALFORMED$", out, re.MULTILINE)
    assert "5: fault: d6: task 5: state 'a'" in out


def test_verify_finds_symbols_that_hide_each_other_without_running_anything(
    capsys: pytest.CaptureFixture[str],
) -> None:
    hidden = record(9)
    hidden["alphabet"]["twin"] = {"name": "go", "arguments": {}}
    hidden["nodes"][0]["transitions"] = [{"symbols": ["twin"], "from": "a", "to": "b"}]
    Path("d6").write_text(json.dumps([hidden]))
    assert main(["tasks", "verify", "d6"]) == 2
    out = capsys.readouterr().out
    assert re.search(r"^9 .* FAILS$", out, re.MULTILINE) and "two symbols may match the same call" in out
    assert "'go' and 'twin' can match the same call" in out


def test_scoring_tells_missing_from_malformed_and_warns_of_cycles(capsys: pytest.CaptureFixture[str]) -> None:
    calls = [{"name": "go"}]
    traces = [{"trace": n, "task": task, "calls": calls} for n, task in enumerate([1, 2, 5, 77])]
    Path("t.jsonl").write_text("\n".join(map(json.dumps, traces)))
    assert main(["score", "--tasks", "d6", "--traces", "t.jsonl"]) == 1
    captured = capsys.readouterr()
    first, second, malformed, missing = map(json.loads, captured.out.splitlines())
    assert first["path_correctness"] == second["path_correctness"] == 1.0
    assert malformed["error"].startswith("task 5 is malformed in the task file: d6: task 5: state 'a'")
    assert missing["error"] == "task 77 is not in the task file"
    assert "pathrig: warning: d6: task 2: progress edges form a cycle through ['a', 'b']" in captured.err
    assert "2 scored, 2 could not be scored" in captured.err


@pytest.mark.parametrize("name", ["d6.json", "D6.JSON", "d6.yaml", "d6.json.gz"])
def test_a_task_file_is_told_by_what_it_holds(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = ("\ufeff\n " + json.dumps([record(1)])).encode()
    Path(name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    assert main(["tasks", "show", f"{name}#1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["golden_paths"] == [["go"]]
    yaml = "tasks: [{id: x, world: farm_rover, prompt: p, plan: [unlock_safety_mode]}]"
    Path(name).write_bytes(gzip.compress(yaml.encode()) if name.endswith("gz") else yaml.encode())
    assert main(["tasks", "show", name, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["golden_paths"] == [["unlock_safety_mode"]]


@pytest.mark.parametrize("content", [b"[" * 100_000, b"[{", b"\xff\xfe\xff", b"[NaN]", b"\x1f\x8bnothing"])
@pytest.mark.parametrize("verb", [["tasks", "list"], ["tasks", "verify"], ["tasks", "show"], ["score"]])
def test_a_file_that_is_no_text_or_no_json_is_one_clear_line(
    verb: list[str], content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("d6").write_bytes(content)
    Path("t.jsonl").touch()
    command = ["score", "--tasks", "d6", "--traces", "t.jsonl"] if verb == ["score"] else [*verb, "d6"]
    assert main(command) == 2
    said = capsys.readouterr().err
    assert said.startswith("pathrig: d6: ")
    assert said.count("\n") == 1


def test_the_difficulty_of_a_task_is_the_measured_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    task = load_task("mail_to_nobody")
    measured = Measured(
        suite=MeasuredSuite(name="core", version="1", digest="x"),
        seed=0,
        agents=("mute", "oracle"),
        tasks={task.id: MeasuredTask(digest=task_digest(task), solved=0.5)},
    )
    for known, share in ((measured, 0.5), (None, None)):
        monkeypatch.setattr(difficulty, "shipped_difficulty", lambda known=known: known)
        assert main(["tasks", "list", "mail_to_nobody", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)[0]["difficulty"] == share
