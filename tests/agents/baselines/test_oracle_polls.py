"""The oracle and the verification make a read again until its answer tells what the plan waits for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from configs.tasks_loader import load_task
from core_eval.cli.main import main
from core_eval.path.calls import MOST_LOOKS
from core_eval.verify.task import verify_task

TASK = """
tasks:
  - id: wait
    world: desktop_manager
    prompt: Back up the data in the Terminal, wait for it, then update the system.
    init: {{applications: {{Terminal: {{is_open: true, actions: {{back up data: {{takes: {takes}}}}}}}}}}}
    plan:
      - perform_action: {{application: Terminal, action: back up data}}
      - until: {{fact: {{status: idle}}, by: [{{get_progress: {{application: Terminal}}}}]}}
      - perform_action: {{application: Terminal, action: update system}}
    goal: {{applications.Terminal.done: {{exact: [back up data, update system]}}}}
"""


def written(tmp_path: Path, takes: float) -> str:
    path = tmp_path / "wait.yaml"
    path.write_text(TASK.format(takes=takes))
    return str(path)


def test_polls_are_loops_of_a_run_that_is_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = written(tmp_path, takes=20)
    assert verify_task(load_task(file)).faults == ()
    log = str(tmp_path / "a.db")
    assert main(["run", "--task", file, "--rig", "sim", "--agent", "oracle", "--db", log, "--json"]) == 0
    (episode,) = json.loads(capsys.readouterr().out)["episodes"]
    assert episode["accepted"] and episode["goal_met"] and episode["final_state_ok"]
    assert (episode["path_correctness"], episode["harmful_calls"]) == (1.0, 0)
    assert episode["efficiency"] == pytest.approx(3 / 7), "four polls came too early"


def test_a_fact_that_is_never_told_is_a_fault(tmp_path: Path):
    (fault,) = verify_task(load_task(written(tmp_path, takes=5.0 * MOST_LOOKS + 10))).faults
    assert "call 1 (get_progress) does not tell {'status': 'idle'}" in fault
