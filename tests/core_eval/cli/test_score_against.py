"""`pathrig score --against`: scores and rules against an outcome."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core_eval.cli.main import main

RULES = """
rules:
  - {id: unlock-first, sentence: Unlock before you move., precedence: [unlock_safety_mode, move_to]}
  - {id: poured, sentence: Water the plant., existence: water_plant}
"""
MOVE = {"name": "move_to", "arguments": {"x": 3.5, "y": 12.5}}
ENDS = [{"name": "unlock_safety_mode"}, MOVE]


@pytest.fixture(autouse=True)
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules.yaml").write_text(RULES)


def run(*agents: str) -> None:
    Path("dry.jsonl").write_text("".join(f"{json.dumps(call)}\n" for call in ENDS))
    named = [part for agent in agents for part in ("--agent", agent)]
    assert main(["run", "--task", "water_one_plant", "--rig", "sim:farm_rover", *named, "--json"]) == 0


def test_every_score_and_rule_is_held_against_the_outcome(capsys: pytest.CaptureFixture[str]) -> None:
    run("oracle", "scripted:dry.jsonl")
    capsys.readouterr()
    against = ["score", "--db", "pathrig.db", "--against", "goal_met"]
    assert main([*against, "--rules", "rules.yaml", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["episodes"], found["failed"]) == (2, 1)
    assert found["not_failed_with_violation"] == {"count": 0, "of": 1}
    poured = found["scores"]["poured"]
    assert (poured["by"], poured["auc"], poured["average_precision"]) == ("rules", 1.0, 1.0)
    assert found["scores"]["path_correctness"]["by"] == "golden paths"
    # A rule that both keep, and the outcome itself, tell nothing.
    assert not {"unlock-first", "goal_met"} & found["scores"].keys()
    assert main([*against, "--rules", "rules.yaml"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "0 of 1 episodes with goal_met violate a rule: 0.0%" in out
    assert "1 of 2 episodes failed by goal_met" in out and "PR area 0.500" in out


def test_without_an_outcome_or_a_failure_there_is_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    run("oracle")
    capsys.readouterr()
    assert main(["score", "--db", "pathrig.db", "--against", "goal_met"]) == 1
    assert "no score tells them apart" in capsys.readouterr().out
    for args, fault in (
        (["--db", "pathrig.db", "--against", "reward"], "no ended episode of pathrig.db has it"),
        (["--against", "reward"], "--against needs --db LOG"),
        (["--db", "pathrig.db", "--against", "reward", "--beta", "0.1"], "--beta does not go with --against"),
    ):
        assert main(["score", *args]) == 2
        assert fault in capsys.readouterr().err
