"""An `mcp:` rig in front of a reference server of the protocol's project."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from core_eval.cli.main import main
from core_eval.log import LogReader

pytest.importorskip("mcp_server_time", reason="`make test-interop` installs it")
pytestmark = [pytest.mark.interop, pytest.mark.slow]
SERVER = f"{sys.executable} -m mcp_server_time --local-timezone UTC"
TASKS = """
tasks:
  - id: call_tokyo
    device: clock-tools.yaml
    prompt: What time is it in Tokyo at half past four in the afternoon in London?
    plan:
      - convert_time: {source_timezone: Europe/London, time: '16:30', target_timezone: Asia/Tokyo}
  - id: nowhere
    device: clock-tools.yaml
    prompt: What time is it in Atlantis?
    plan:
      - get_current_time: {timezone: Sea/Atlantis}
"""


def test_a_task_on_a_clock(tmp_path: Path) -> None:
    rig, tasks, db = tmp_path / "clock.yaml", tmp_path / "tasks.yaml", tmp_path / "run.db"
    assert main(["rigs", "new", str(rig), "--name", "clock", "--mcp", SERVER]) == 0
    tasks.write_text(TASKS)
    assert main(["tasks", "verify", "--static", str(tasks), "--rig", str(rig)]) == 0
    assert main(["rigs", "check", str(rig)]) == 0
    given = ["--task", f"{tasks}#call_tokyo", "--task", f"{tasks}#nowhere", "--rig", str(rig)]
    given += ["--agent", "oracle", "--db", str(db)]
    assert main(["run", *given]) == 0
    with LogReader(db) as reader:
        told, nowhere = (reader.steps(episode.id) for episode in reader.episodes())
    assert told[0].status == "ok"
    assert told[0].result["target"]["timezone"] == "Asia/Tokyo"
    assert nowhere[0].status == "rejected"
    assert "Atlantis" in str(nowhere[0].error_message)
