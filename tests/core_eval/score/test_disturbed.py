"""Faults of rig, link and host: whose they are, what they end, and what is tried again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from bench_rig import BenchRover, on_a_pty
from episode_rows import ROW

from core_eval.call_status import CallStatus
from core_eval.cli.main import main
from core_eval.log import LogReader
from core_eval.score.disturbance import Disturbance, is_disturbed
from core_eval.score.summary import mean
from devices.outcome import FaultOwner, Outcome, owner_of


class FaultyRover(BenchRover):
    """A bench rover whose calls fail by a list of codes, None for ok; then they are ok."""

    def __init__(self, codes: Sequence[str | None]) -> None:
        super().__init__()
        self.codes = list(codes)

    def execute(self, tool: str, arguments: Mapping[str, Any], stop: Event) -> Outcome:
        outcome = super().execute(tool, arguments, stop)
        code = self.codes.pop(0) if self.codes else None
        if code is None:
            return outcome
        return Outcome(CallStatus.FAULT, code=code, message=f"it failed: {code}", t=1.0, duration=1.0)


@contextmanager
def run_on(tmp_path: Path, codes: Sequence[str | None], *options: str) -> Iterator[tuple[int, Path]]:
    db, script = tmp_path / "log.db", tmp_path / "script.jsonl"
    script.write_text('{"name": "unlock_safety_mode"}\n' + '{"name": "lock_safety_mode"}\n' * 3)
    command = ["run", "--task", "water_one_plant", "--agent", f"scripted:{script}", "--db", str(db)]
    with on_a_pty(FaultyRover(codes)) as url:
        status = main([*command, "--rig", url, "--guard", "observe", *options])
    yield status, db


def rows(db: Path) -> list[tuple[int, int, str, float | None]]:
    with LogReader(db) as reader:
        return [(row.number, row.seed, row.status, row.scores.get("disturbed")) for row in reader.episodes()]


def test_each_fault_has_an_owner() -> None:
    owners = {
        code: owner_of(code) for code in ("timeout", "offline", "stalled", "host_frozen", "protective_stop")
    }
    assert list(owners.values()) == [
        FaultOwner.LINK, FaultOwner.LINK, FaultOwner.RIG, FaultOwner.HOST, FaultOwner.AGENT,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("simulated", "drawn", "code", "disturbs"),
    [
        (False, False, "stalled", True),
        (False, False, "timeout", True),
        (False, False, "protective_stop", False),
        (False, True, "timeout", False),
        # A simulator's own faults are its task's, or follow from what the agent did.
        (True, False, "stalled", False),
        (True, False, "timeout", True),
        (True, True, "timeout", False),
        (True, True, "host_frozen", True),
    ],
)
def test_what_disturbs(simulated: bool, drawn: bool, code: str, disturbs: bool) -> None:
    disturbance = Disturbance(simulated=simulated, draws_link_faults=drawn)
    disturbance.take(CallStatus.FAULT, code)
    # A refusal is the agent's, whatever its code.
    disturbance.take(CallStatus.REJECTED, code)
    assert disturbance.faults == disturbs


@pytest.mark.parametrize(("reason", "disturbed"), [("done", True), ("max_time", False), ("person", False)])
def test_a_call_that_a_limit_or_a_person_cut_does_not_disturb(reason: str, disturbed: bool) -> None:
    step = SimpleNamespace(status=CallStatus.FAULT, error_code="timeout")
    episode = replace(ROW, stop_reason=reason, simulated=True)
    assert is_disturbed(episode, [step]) is disturbed  # type: ignore[list-item]


@pytest.mark.serial
def test_one_fault_of_the_rig_marks_the_episode(tmp_path: Path) -> None:
    with run_on(tmp_path, [None, "stalled"]) as (status, db):
        assert status == 0
        assert rows(db) == [(0, 0, "completed", 1.0)]


@pytest.mark.serial
def test_three_faults_end_the_episode_and_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with run_on(tmp_path, ["stalled", "flow_low", "stalled"], "--episodes", "3") as (status, db):
        assert status == 3
        assert rows(db) == [(0, 0, "error", 1.0)]
    assert "3 calls failed by no fault of the agent, the last: stalled: it failed" in capsys.readouterr().err


@pytest.mark.serial
def test_a_disturbed_episode_is_tried_again_with_a_new_seed(tmp_path: Path) -> None:
    # The first try of the second episode breaks, so that the rig is opened anew.
    codes = ["stalled", *[None] * 3, *[None] * 4, "stalled", "stalled", "stalled"]
    with run_on(tmp_path, codes, "--episodes", "2", "--retries", "1", "--json") as (status, db):
        assert rows(db) == [
            (0, 0, "completed", 1.0),
            (0, 2, "completed", 0.0),
            (1, 1, "error", 1.0),
            (1, 3, "completed", 0.0),
        ]
        assert status == 0


@pytest.mark.serial
def test_three_disturbed_episodes_in_a_row_end_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    codes = ["stalled", *[None] * 3] * 3
    with run_on(tmp_path, codes, "--episodes", "9") as (status, db):
        assert status == 3
        assert [row[3] for row in rows(db)] == [1.0, 1.0, 1.0]
    assert "3 episodes in a row were disturbed by faults of rig, link or host" in capsys.readouterr().err


@pytest.mark.serial
def test_undisturbed_episodes_between_reset_the_count(tmp_path: Path) -> None:
    codes = [*["stalled", *[None] * 3] * 2, *[None] * 4, *["stalled", *[None] * 3] * 2]
    with run_on(tmp_path, codes, "--episodes", "6") as (status, db):
        assert status == 0
        assert [row[3] for row in rows(db)] == [1.0, 1.0, 0.0, 1.0, 1.0, 0.0]


def test_a_fault_that_the_task_draws_does_not_disturb(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    init = tmp_path / "init.json"
    init.write_text(json.dumps({"faults": {"schedule": [{"kind": "reset", "at": 1.0}]}}))
    command = ["run", "--task", "water_one_plant", "--rig", "sim:farm_rover", "--agent", "oracle"]
    assert main([*command, "--init", str(init), "--db", str(tmp_path / "log.db"), "--json"]) == 0
    [episode] = json.loads(capsys.readouterr().out)["episodes"]
    assert episode["faults"] > 0 and not episode["disturbed"]


@pytest.mark.serial
def test_a_disturbed_episode_is_out_of_means_but_its_harm_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with run_on(tmp_path, ["stalled"], "--episodes", "2", "--json") as (status, db):
        printed = json.loads(capsys.readouterr().out)
        assert status == 0
    broken, whole = printed["episodes"]
    assert broken["path_correctness"] < whole["path_correctness"]
    summary = printed["summary"]
    assert summary["path_correctness"] == whole["path_correctness"]
    assert summary["disturbed"] == 0.5
    assert (summary["defined"]["disturbed"], summary["defined"]["faults"]) == (2, 2)
    [agent] = summary["agents"].values()
    assert agent["disturbed"] == 1
    assert agent["worst_case"]["path_correctness"] == whole["path_correctness"] / 2
    assert main(["show", str(db)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "1 disturbed" in shown and "disturbed: a fault of rig, link or host" in shown


@pytest.mark.serial
def test_a_gate_limits_the_share_of_disturbed_episodes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--episodes", "2", "--fail-under", "disturbed<=0.4"]
    with run_on(tmp_path, ["stalled"], *options) as (status, _db):
        assert status == 1
    assert "disturbed is 0.5 (required: at most 0.4)" in capsys.readouterr().err


def test_the_harm_of_a_disturbed_episode_counts() -> None:
    whole = {"path_correctness": 1.0, "harm_events": 0.0, "disturbed": 0.0}
    broken = {"path_correctness": 0.2, "harm_events": 3.0, "disturbed": 1.0}
    rows = [replace(ROW, id=number, scores=scores) for number, scores in enumerate((whole, broken))]
    assert mean(rows, "path_correctness") == 1.0
    assert mean(rows, "harm_events") == 1.5
