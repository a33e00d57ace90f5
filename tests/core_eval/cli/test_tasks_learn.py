"""`pathrig tasks learn` over a log, and `score` by what it wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core_eval.cli.main import main


@pytest.fixture(autouse=True)
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_automata_of_a_log_are_learned_judged_and_score_traces(capsys: pytest.CaptureFixture[str]) -> None:
    run = ["run", "--task", "mail_to_two", "--rig", "sim:communication", "--no-floors", "--json"]
    agents = ["--agent", "oracle", "--agent", "mutated:0.5", "--episodes", "5"]
    assert main([*run, *agents]) == 0
    capsys.readouterr()
    assert main(["tasks", "learn", "pathrig.db", "-o", "learned.json", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    task = found["tasks"]["mail_to_two"]
    assert task["left_out"]["accepted"] >= 5 and task["left_out"]["rejected"] >= 1
    assert found["total"]["planted"] == task["left_out"]["planted"]
    assert (task["left_out"]["harmed"], task["left_out"]["missed"]) == (0, 0)
    assert main(["tasks", "learn", "pathrig.db"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "accepted, judged wrong (false harm): 0 of" in shown and "mail_to_two" in shown

    def sent(*names: str) -> list[dict[str, object]]:
        common = {"sender": "alice", "text": "Meeting at ten", "priority": "normal"}
        return [{"name": "send_message", "arguments": {**common, "recipient": name}} for name in names]

    traces = [("right", sent("carla", "bob")), ("one", sent("bob")), ("other", sent("bob", "dan"))]
    lines = [json.dumps({"trace": name, "task": "mail_to_two", "calls": calls}) for name, calls in traces]
    Path("traces.jsonl").write_text("\n".join(lines))
    assert main(["score", "--tasks", "learned.json", "--traces", "traces.jsonl"]) == 0
    scores = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["accepted"] for one in scores] == [True, False, False]
    assert [one["harmful_calls"] for one in scores] == [0, 0, 1]


def test_a_log_without_what_it_takes_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    run = ["run", "--task", "mail_to_two", "--rig", "sim:communication", "--no-floors", "--json"]
    assert main([*run, "--agent", "oracle"]) == 0
    capsys.readouterr()
    assert main(["tasks", "learn", "pathrig.db", "--by", "beauty"]) == 2
    assert "no ended episode has beauty: name another metric with --by" in capsys.readouterr().err
    assert main(["tasks", "learn", "pathrig.db"]) == 1
    assert "1 tasks have fewer than 5 accepted episodes: mail_to_two" in capsys.readouterr().out
    Path("learned.json").write_text('{"automata": [3]}')
    Path("t.jsonl").write_text("")
    assert main(["score", "--tasks", "learned.json", "--traces", "t.jsonl"]) == 2
    assert "learned.json: holds no automata as `tasks learn` writes them" in capsys.readouterr().err
