"""What scoring a log gives beside the path metrics: failures, pairs, baselines, costs."""

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from configs.tasks_loader import list_tasks
from core_eval.cli.live import Silent
from core_eval.cli.main import main
from core_eval.harness.failure_labels import failure_rows
from core_eval.harness.run import Run, load_parts
from core_eval.harness.run_config import Cell, RunConfig
from core_eval.log import FailureRow, LogReader, RunLog

ROVER_TASKS = [task.id for task in list_tasks() if task.device.name == "farm_rover"]
THERE_AND_BACK = [
    ("unlock_safety_mode", {}),
    ("lock_safety_mode", {}),
    ("unlock_safety_mode", {}),
    ("move_to", {"x": 3.4, "y": 12.4, "yaw": 0.5}),
    ("water_plant", {"plant_id": "plant_B", "liters": 4.48}),
    ("lock_safety_mode", {}),
]


@pytest.fixture(autouse=True)
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*cells: Cell) -> None:
    config = RunConfig(cells=cells)
    with RunLog(Path("log.db")) as log:
        Run(config, load_parts(config), log, Silent()).start()


def scripted(calls: list[tuple[str, dict[str, object]]]) -> Cell:
    lines = (json.dumps({"name": name, "arguments": arguments}) for name, arguments in calls)
    Path("script.jsonl").write_text("\n".join(lines) + "\n")
    return Cell(task="water_one_plant", rig="sim:farm_rover", agent="scripted:script.jsonl")


def test_every_golden_run_passes_the_baselines_and_has_no_failure() -> None:
    run(*(Cell(task=task, rig="sim:farm_rover", agent="oracle") for task in ROVER_TASKS))
    with LogReader(Path("log.db")) as reader:
        for episode in reader.episodes():
            named = {name: episode.scores[name] for name in ("response_ok", "final_state_ok")}
            assert named == {"response_ok": 1.0, "final_state_ok": 1.0}, episode.task
            assert episode.scores["compensating_pairs"] == 0, episode.task
            assert episode.failures == () and episode.pairs == ()
            assert episode.scores["peak_memory"] > 1e6


def test_a_lock_that_is_undone_is_a_pair_and_a_reasoning_deficit(capsys: pytest.CaptureFixture[str]) -> None:
    run(scripted(THERE_AND_BACK))
    with LogReader(Path("log.db")) as reader:
        (episode,) = reader.episodes()
        durations = {step.k: step.duration for step in reader.steps(1)}
    # Arguments of its own within the patterns, and extra calls, cost the baselines nothing.
    assert (episode.scores["response_ok"], episode.scores["final_state_ok"]) == (1.0, 1.0)
    assert episode.failures == (FailureRow("reasoning_deficit", "decision"),)
    (pair,) = episode.pairs
    assert (pair.earlier, pair.later) == (1, 2)
    assert pair.stranded == pytest.approx(durations[2])
    assert episode.scores["stranded_seconds"] == pair.stranded
    assert main(["show", "log.db", "--episode", "1"]) == 0
    story = capsys.readouterr().out
    assert "undoes step 1" in story and "reasoning_deficit" in story
    assert main(["show", "log.db", "--episode", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["failures"] == [{"label": "reasoning_deficit", "level": "decision"}]
    assert [(pair["earlier"], pair["later"]) for pair in told["pairs"]] == [(1, 2)]
    with sqlite3.connect("log.db") as connection:
        undone = connection.execute("SELECT k FROM story WHERE undoes LIKE 'step 1, stranded%'").fetchall()
    assert undone == [(2,)]


def test_a_call_that_is_left_out_fails_the_response_baseline() -> None:
    run(scripted([call for call in THERE_AND_BACK if call[0] != "water_plant"]))
    with LogReader(Path("log.db")) as reader:
        assert reader.episodes()[0].scores["response_ok"] == 0.0


def test_scoring_again_corrects_failures_and_pairs_on_demand(capsys: pytest.CaptureFixture[str]) -> None:
    run(scripted(THERE_AND_BACK))
    with RunLog(Path("log.db")) as log:
        log.connection.execute("UPDATE failure SET label = 'timeout'")
        log.connection.execute("UPDATE compensating_pair SET stranded = stranded + 1e-9")
    assert main(["score", "--db", "log.db", "--write"]) == 0
    assert "the log says otherwise of failures, pairs" in capsys.readouterr().err
    assert main(["score", "--db", "log.db", "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert json.loads(captured.out)["episodes"][0]["failures"][0]["label"] == "reasoning_deficit"


def test_labels_tell_who_failed() -> None:
    calls = [("unlock_safety_mode", {}), ("water_plant", {"plant_id": 7}), ("fly", {})]
    run(scripted(calls))
    with LogReader(Path("log.db")) as reader:
        (episode,) = reader.episodes()
        steps = reader.steps(1)
    assert episode.failures == (FailureRow("tool_invocation_error", "execution"),)
    unreadable = replace(steps[1], tool=None, error_code="bad_arguments")
    labels = failure_rows(episode, [steps[0], unreadable], {"accepted": 0.0})
    assert labels == (FailureRow("parsing_failure", "execution"),)
    broken = replace(episode, status="error", stop_reason="RigError")
    assert failure_rows(broken, steps[:1], {"accepted": 1.0}) == (FailureRow("link_fault", "rig"),)
    assert failure_rows(replace(broken, stop_reason="AgentError"), steps[:1], {}) == ()
