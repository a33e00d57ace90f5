import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from core_eval.cli.main import main
from core_eval.log import LogReader

pytestmark = [pytest.mark.broker, pytest.mark.serial, pytest.mark.slow]

DEMO = [sys.executable, "-m", "core_eval.cli.main", "demo", "--agent", "oracle", "--agent", "random"]


@pytest.fixture(autouse=True)
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_ctrl_c_in_mid_demo_then_a_whole_one_in_the_same_file(capsys: pytest.CaptureFixture[str]) -> None:
    """It drives both rigs, and its table comes last."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "TERM": "dumb"}
    child = subprocess.Popen(DEMO, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    assert child.stdout is not None
    while "progress" not in child.stdout.readline():
        assert child.poll() is None
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=30)
    assert child.returncode == 130, errors
    with LogReader(Path("pathrig-demo.db")) as reader:
        first = reader.episodes()
        assert {episode.status for episode in first} <= {"completed", "interrupted"}
        assert len(reader.unfinished_runs()) == 1
        stopped = reader.connection.execute(
            "SELECT count(*) FROM rig_status WHERE state = 'stop confirmed'"
        ).fetchone()
        assert stopped == (len(first),)
    assert main(["demo", "--agent", "oracle"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()]
    heading = next(i for i, words in enumerate(lines) if words[:2] == ["agent", "episodes"])
    assert lines[heading + 2][:10] == ["oracle", "5", *["1.00"] * 3, *["0.0"] * 3, "0.00", "1.00"]
    assert lines[heading + 3][:4] == ["all", "equal"] * 2
    assert lines[heading + 4][:4] == ["oracle", "passed", "5", "of"]
    assert any("pathrig-demo.db." in words for words in lines[heading + 5 :])
    with LogReader(Path("pathrig-demo.db")) as reader:
        assert len(reader.runs()) == 2
        before, after = reader.episodes()[: len(first)], reader.episodes()[len(first) :]
        assert [episode.id for episode in before] == [episode.id for episode in first]
        assert {episode.rig for episode in after} == {"sim-farm-mqtt", "sim-arm-serial"}
        assert all(episode.scores["final_state_ok"] == 1.0 for episode in after)


def test_its_results_come_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--agent", "mute", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {episode["rig"] for episode in told["episodes"]} == {"sim-farm-mqtt", "sim-arm-serial"}
    assert told["summary"]["path_correctness"] == 0.0
