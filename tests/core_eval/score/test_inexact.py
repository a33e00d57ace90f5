"""A lower bound of a score is marked wherever it stands."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from episode_rows import CLEAN, ROW

from core_eval.cli.main import main
from core_eval.path import order, refinement
from core_eval.report.tables.texts import mean_cell, score_cell
from core_eval.score.episodes import INEXACT_NOTE
from core_eval.score.summary import run_json

BOUNDS = {"pc_ktc": 0.5, "pc_ktc_low": 0.5, "pc_ktc_high": 0.75, "exact": 0.0}
INEXACT = replace(ROW, id=4, number=3, scores={**ROW.scores, **BOUNDS})


def test_an_inexact_score_is_marked() -> None:
    assert score_cell(INEXACT.scores, "pc_ktc") == "~0.500"
    assert score_cell(INEXACT.scores, "path_correctness") == "0.500"


def test_a_mean_with_an_inexact_score_behind_it_says_so() -> None:
    exact = replace(CLEAN, scores={**CLEAN.scores, "pc_ktc": 1.0})
    cell = mean_cell([INEXACT, exact], "pc_ktc")
    assert cell.startswith("~0.75") and cell.endswith("\n1 inexact")
    assert not mean_cell([INEXACT, exact], "path_correctness").startswith("~")
    summary = run_json([INEXACT, exact])["summary"]
    assert summary["inexact"] == {"pc_ktc": 1}
    assert summary["agents"]["oracle"]["inexact"] == {"pc_ktc": 1}


TASK = """
tasks:
  - id: all_blocks
    world: farm_rover
    prompt: Do it.
    plan:
      - any_order:
          - [unlock_safety_mode, lock_safety_mode, unlock_safety_mode]
          - [refill_water_tank, lock_safety_mode]
          - [water_plant: {plant_id: plant_A, liters: 1}, water_plant: {plant_id: plant_B, liters: 1}]
          - [move_to: {x: 1, y: 1}, move_to: {x: 2, y: 2}]
          - [move_to: {x: 3, y: 1}, move_to: {x: 4, y: 2}]
"""


def test_the_tables_and_the_page_mark_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("task.yaml").write_text(TASK)
    calls = [{"name": "move_to", "arguments": {"x": x, "y": y}} for x, y in ((4, 2), (2, 2), (3, 1), (1, 1))]
    calls += [{"name": "lock_safety_mode"}, {"name": "unlock_safety_mode"}, {"name": "refill_water_tank"}]
    Path("script.jsonl").write_text("".join(json.dumps(call) + "\n" for call in calls))
    Path("traces.jsonl").write_text(json.dumps({"trace": 1, "task": "all_blocks", "calls": calls}) + "\n")
    run = ["run", "--task", "task.yaml", "--rig", "sim:farm_rover", "--agent", "scripted:script.jsonl"]
    assert main([*run, "--json"]) == 0
    monkeypatch.setattr(order, "WORK", 0)
    monkeypatch.setattr(refinement, "WORK", 0)
    capsys.readouterr()
    assert main(["score", "--db", "pathrig.db", "--write"]) == 0
    printed = capsys.readouterr().out
    (again,) = json.loads(_printed(["score", "--db", "pathrig.db", "--json"], capsys))["episodes"]
    assert not again["exact"] and again["pc_ktc"] == again["pc_ktc_low"] < again["pc_ktc_high"]
    marked = f"~{again['pc_ktc']:.3f}"
    assert printed.count(marked) == 2
    assert INEXACT_NOTE in printed
    assert f"PC-KTC {marked}" in _printed(["show", "pathrig.db", "--episode", "1"], capsys)
    assert main(["report", "pathrig.db", "-o", "page.html"]) == 0
    page = Path("page.html").read_text()
    assert page.count(marked) == 3
    assert "a lower bound" in page
    traces = ["score", "--tasks", "task.yaml", "--traces", "traces.jsonl"]
    printed = json.loads(_printed([*traces, "--json"], capsys))
    assert printed["summary"]["inexact"]["pc_ktc"] == 1
    table = _printed([*traces, "--out", "scores.jsonl"], capsys)
    assert f"~{printed['traces'][0]['pc_ktc']:.3f}" in table and INEXACT_NOTE in table


def _printed(command: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert main(command) == 0
    return capsys.readouterr().out
