import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from bench_rig import BenchRover, on_a_pty
from episode_start import START
from paths import ROOT

from core_eval.cli.main import main
from core_eval.log import LogReader, RunLog
from core_eval.run.config import RunConfig

pytestmark = [pytest.mark.broker, pytest.mark.serial, pytest.mark.llama]

PATHRIG = [sys.executable, "-m", "core_eval.cli.main"]
RANDOM = ["run", "--task", "water_one_plant", "--rig", "sim:farm_rover", "--agent", "random"]


@pytest.fixture(autouse=True)
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = ROOT
    monkeypatch.setenv("PYTHONPATH", str(root), prepend=os.pathsep)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A script whose second call keeps a slow rig busy."""
    calls = [("unlock_safety_mode", {}), ("move_to", {"x": 3.5, "y": 12.5}), ("lock_safety_mode", {})]
    path = tmp_path / "calls.jsonl"
    path.write_text("".join(json.dumps({"name": n, "arguments": a}) + "\n" for n, a in calls))
    return path


def slow_run(url: str, script: Path) -> subprocess.Popen[str]:
    command = [*PATHRIG, "run", "--task", "water_one_plant", "--rig", url, "--agent", f"scripted:{script}"]
    return subprocess.Popen(
        [*command, "--db", "log.db"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_json_and_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RANDOM, "--episodes", "2", "--seed", "7", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [episode["seed"] for episode in printed["episodes"]] == [7, 8]
    first = printed["episodes"][0]
    assert (first["task"], first["agent"], first["status"]) == ("water_one_plant", "random", "completed")
    assert 0 <= first["path_correctness"] < 1 and first["harmful_calls"] > 0
    assert printed["summary"]["episodes"] == 2
    assert Path("pathrig.db").is_file()


def test_oracle_over_mqtt_is_clean_and_keeps_the_threshold(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["run", "--task", "water_one_plant", "--rig", "sim-farm-mqtt", "--agent", "oracle", "--json"]
    assert main([*command, "--episodes", "2", "--fail-under", "path_correctness=1"]) == 0
    summary = json.loads(capsys.readouterr().out)["summary"]
    assert (summary["path_correctness"], summary["harmful_calls"], summary["harm_events"]) == (1.0, 0.0, 0.0)
    assert summary["final_state_ok"] == 1.0


def test_a_missed_threshold_is_1_and_stands_in_the_junit_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RANDOM, "--fail-under", "path_correctness=0.99", "--junit", "junit.xml"]) == 1
    assert "threshold missed: random: path_correctness" in capsys.readouterr().err
    assert 'type="threshold"' in Path("junit.xml").read_text()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "--task", "water_one_plant"], "give --task or --suite, --rig and --agent"),
        (["run", "--rug", "x"], "--rug"),
        (["jump"], "jump"),
        ([], "--help"),
        ([*RANDOM[:2], "no_such_task", *RANDOM[3:]], "no task 'no_such_task'"),
        ([*RANDOM, "--episodes", "none"], "episodes"),
        ([*RANDOM, "--init", "no.json"], "no.json"),
        ([*RANDOM, "--fail-under", "beauty=1"], "the metrics are"),
        ([*RANDOM, "--db", "no/folder.db"], "folder that exists"),
        ([*RANDOM[:-1], "wizard"], "wizard"),
        (["run", "--resume", "--db", "none.db"], "there is no such log"),
        ([*RANDOM, "--resume"], "leave out --task"),
        (["show", "none.db"], "there is no such log"),
        (["score"], "give --tasks"),
        (["sim", "farm_rover"], "give either --mqtt"),
        (["tasks", "show", "nothing"], "no task 'nothing'"),
        (["rigs", "check", "nothing"], "no rig 'nothing'"),
    ],
)
def test_bad_usage_is_2_with_one_clear_line(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1 and says in captured.err
    assert captured.out == ""
    assert not Path("pathrig.db").exists()


def test_bad_init_names_the_key(capsys: pytest.CaptureFixture[str]) -> None:
    Path("init.json").write_text('{"batery": 0.5}')
    assert main([*RANDOM, "--init", "init.json"]) == 2
    assert "batery" in capsys.readouterr().err


def test_a_rig_that_does_not_answer_is_3(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RANDOM[:4], "mqtt://127.0.0.1:1/rover", *RANDOM[5:]]) == 3
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGQUIT, 131)]
)
def test_a_signal_in_mid_episode_stops_the_rig_and_marks_the_episode(
    number: int, status: int, script: Path
) -> None:
    rover = BenchRover("move_to")
    with on_a_pty(rover) as url:
        child = slow_run(url, script)
        assert rover.running.wait(20.0)
        child.send_signal(number)
        _, errors = child.communicate(timeout=20.0)
        assert child.returncode == status
        assert rover.made_safe.is_set()
        assert "the rig is safe and the log is readable" in errors
    with LogReader(Path("log.db")) as reader:
        (episode,) = reader.episodes()
        assert (episode.status, episode.stop_reason) == ("interrupted", "signal")
        steps = reader.steps(episode.id)
        assert [(step.tool, step.status) for step in steps] == [
            ("unlock_safety_mode", "ok"),
            ("move_to", None),
        ]
    assert rover.calls == ["unlock_safety_mode", "move_to"]


def test_kill_9_in_mid_episode_then_resume(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rover = BenchRover("move_to")
    with on_a_pty(rover) as url:
        child = slow_run(url, script)
        assert rover.running.wait(20.0)
        with sqlite3.connect("log.db") as connection:
            assert connection.execute("SELECT tool, status FROM story ORDER BY k").fetchall() == [
                ("unlock_safety_mode", "ok"),
                ("move_to", None),
            ]
        connection.close()
        child.kill()
        child.communicate()
        rover.slow = ()
        assert main(["run", "--resume", "--db", "log.db", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [episode["status"] for episode in printed["episodes"]] == ["completed"]
    with LogReader(Path("log.db")) as reader:
        assert [episode.status for episode in reader.episodes()] == ["aborted", "completed"]
    assert main(["run", "--resume", "--db", "log.db"]) == 2
    assert "there is nothing to resume in log.db" in capsys.readouterr().err


def test_the_rest_is_without_the_cut_episode() -> None:
    here = ["run", "--task=water_one_plant", "--rig=sim:farm_rover", "--agent=oracle", "--db=log.db"]
    assert main([*here, "--episodes=3"]) == 0
    with RunLog(Path("log.db")) as log:
        log.connection.execute("DELETE FROM episode WHERE number = 2")
        log.connection.execute("UPDATE episode SET status = 'aborted' WHERE number = 1")
        log.connection.execute("UPDATE run SET ended = NULL")
    assert main(["run", "--resume-rest", "--db=log.db"]) == 0
    with LogReader(Path("log.db")) as reader:
        rows = [(one.number, one.status) for one in reader.episodes()]
        assert rows == [(0, "completed"), (1, "aborted"), (2, "completed")]
        assert reader.run(1).ended is not None


def test_a_run_whose_plan_cannot_be_read_is_not_resumed(tmp_path, capsys):
    with RunLog(tmp_path / "log.db") as log:
        log.begin_episode(log.begin_run({"a": 1}, {}, {}), START).end("interrupted")
    assert main(["run", "--db", str(tmp_path / "log.db"), "--resume"]) == 2
    said = capsys.readouterr().err
    assert "run 1 in" in said and "has an invalid plan: cells: Field required" in said
    assert "pydantic" not in said


def test_a_start_that_fails_leaves_no_run(capsys: pytest.CaptureFixture[str]) -> None:
    here = ["run", "--task", "water_one_plant", "--agent", "oracle", "--db", "log.db"]
    assert main([*here, "--rig", "mqtt://127.0.0.1:9/rover"]) == 3
    assert main([*here, "--rig", "serial:///dev/no-such-port"]) == 3
    capsys.readouterr()
    with LogReader(Path("log.db")) as reader:
        assert reader.runs() == []
    assert main(["run", "--resume", "--db", "log.db"]) == 2
    assert "there is nothing to resume in log.db" in capsys.readouterr().err


def test_resume_takes_the_newest_run_that_has_something_to_resume(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here = [
        "run",
        "--task",
        "water_one_plant",
        "--rig",
        "sim:farm_rover",
        "--agent",
        "oracle",
        "--db",
        "log.db",
    ]
    assert main([*here, "--episodes", "2"]) == 0
    with RunLog(Path("log.db")) as log:
        # Cut off after its first episode; then failed starts, as older versions left them.
        log.connection.execute("DELETE FROM episode WHERE number = 1")
        log.connection.execute("UPDATE run SET ended = NULL")
        for _ in range(2):
            log.begin_run({"cells": []}, {}, {})
        # A run that this process still writes is not there to be resumed.
        log.begin_episode(log.begin_run({"cells": []}, {}, {}), START)
        capsys.readouterr()
        assert main(["run", "--resume", "--db", "log.db", "--json"]) == 0
    printed = capsys.readouterr()
    assert "resuming run 1 in log.db" in printed.err
    assert len(json.loads(printed.out)["episodes"]) == 2
    with LogReader(Path("log.db")) as reader:
        assert reader.run(1).ended is not None
    with RunLog(Path("log.db")):
        assert main(["run", "--resume", "--db", "log.db"]) == 2
    assert "run 4 in log.db is still active in another process" in capsys.readouterr().err


def test_safe_is_believed_of_the_command_line_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = [("unlock_safety_mode", {}), ("recharge", {}), ("lock_safety_mode", {})]
    script = tmp_path / "calls.jsonl"
    script.write_text("".join(f"{json.dumps({'name': name, 'arguments': given})}\n" for name, given in calls))
    here = ["run", "--task", "water_one_plant", "--rig", "sim:farm_rover", "--agent", f"scripted:{script}"]
    here += ["--guard", "block", "--db", "log.db"]

    def statuses() -> list[str | None]:
        with LogReader(Path("log.db")) as reader:
            return [step.status for step in reader.steps(reader.episodes()[-1].id)]

    assert main(here) == 0
    assert statuses() == ["ok", "blocked", "ok"]
    assert main([*here, "--safe-tool", "recharge"]) == 0
    assert statuses() == ["ok", "rejected", "ok"]
    capsys.readouterr()
    assert main([*here, "--safe-tool", "brake"]) == 2
    assert "--safe-tool brake: no task of this run has that tool" in capsys.readouterr().err
    # What a log says of its run is no command line.
    with sqlite3.connect("log.db") as connection:
        assert not connection.execute("SELECT 1 FROM run WHERE config LIKE '%recharge%'").fetchall()
    connection.close()
    config = RunConfig.model_validate({"cells": [{"task": "t", "rig": "r", "agent": "a"}]})
    assert config.for_the_log().keys().isdisjoint({"safe_tools"})
