"""`run --jobs`: the same rows as one episode after the other, and what ends a worker ends nothing else."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from bridge_rig import Mosquitto
from plugin import Plugin
from processes import wait_for

from agents.registry import AGENT_FORMS
from core_eval.cli.main import main
from core_eval.log import EpisodeRow, LogError, LogReader
from core_eval.rig.serve_simulator import ServedSimulator
from core_eval.run.episode import EpisodeFailed

OF_THE_MACHINE = (
    "agent_seconds",
    "wall_seconds",
    "peak_memory",
    "energy",
    "energy_above_idle",
    "episode",
    "scorings",
)
ONE = ["--task", "water_one_plant", "--rig", "sim:farm_rover"]
FARM = [*ONE, "--task", "water_two_plants"]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def scored(capsys: pytest.CaptureFixture[str], *options: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    assert main(["run", *options, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["episodes"]
    found = {
        (row["task"], row["agent"], row["seed"]): {k: v for k, v in row.items() if k not in OF_THE_MACHINE}
        for row in rows
    }
    assert len(found) == len(rows)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("what", [[*ONE, "--episodes", "2"], [*FARM, "--hazards"]], ids=["plain", "hazards"])
def test_the_rows_are_those_of_one_after_the_other(
    what: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command = [*what, "--agent", "oracle", "--agent", "random"]
    one = scored(capsys, *command, "--db", "one.db")
    two = scored(capsys, *command, "--db", "two.db", "--jobs", "2")
    assert len(one) == 4 and one == two
    with LogReader(Path("one.db")) as a, LogReader(Path("two.db")) as b:
        ways = [
            {(row.number, row.fingerprint, row.definition.automaton) for row in log.episodes()}
            for log in (a, b)
        ]
        # The parent runs no episode, and both workers do.
        pids = {process for (process,) in b.connection.execute("SELECT DISTINCT pid FROM episode")}
        (run,) = b.runs()
        assert ways[0] == ways[1] and len(pids) == 2 and os.getpid() not in pids and run.ended is not None


def test_what_it_is_not_for(capsys: pytest.CaptureFixture[str]) -> None:
    task = ["run", "--task", "water_one_plant", "--agent", "oracle", "--jobs", "2"]
    for options, words in (
        (["--rig", "mqtt://localhost/rover"], "is one machine"),
        (["--rig", "sim:farm_rover", "--guard", "confirm"], "asks of one episode at a time"),
    ):
        assert main([*task, *options]) == 2
        assert words in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.broker
def test_each_machine_has_one_worker(capsys: pytest.CaptureFixture[str]) -> None:
    with ExitStack() as stack:
        broker = stack.enter_context(Mosquitto())
        for name in ("farm_rover", "navigation"):
            served = ServedSimulator(name, mqtt=broker.url, rig=name).command()
            stack.enter_context(ended_at_last(served))
            Path(f"{name}.yaml").write_text(f"name: {name}\nurl: {broker.url}/{name}\ndevice: {name}\n")
        command = ["--rig", "farm_rover.yaml", "--rig", "navigation.yaml", "--agent", "oracle"]
        command += ["--task", "water_one_plant", "--task", "nav_whole_patrol", "--episodes", "2"]
        rows = scored(capsys, *command, "--jobs", "3", "--db", "log.db")
    assert len(rows) == 4
    with LogReader(Path("log.db")) as log:
        pairs = log.connection.execute("SELECT DISTINCT rig, pid FROM episode").fetchall()
    assert sorted(rig for rig, _ in pairs) == ["farm_rover", "navigation"]
    assert len({process for _, process in pairs}) == 2


@contextmanager
def ended_at_last(command: list[str]) -> Iterator[None]:
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline()
        yield
        process.terminate()


def test_an_error_keeps_its_parts_between_processes() -> None:
    error = pickle.loads(pickle.dumps(EpisodeFailed("the agent has ended", 7, by_agent=True)))
    assert (str(error), error.episode, error.by_agent) == ("the agent has ended", 7, True)


@pytest.mark.slow
def test_an_agent_that_fails_is_left_out_and_the_others_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    Path("gone.py").write_text("raise SystemExit(3)\n")
    gone = f"command:{sys.executable} gone.py"
    command = [
        *FARM,
        "--agent",
        "oracle",
        "--agent",
        gone,
        "--episodes",
        "2",
        "--jobs",
        "2",
        "--allow-programs",
    ]
    assert main(["run", *command, "--db", "log.db"]) == 3
    assert "gone.py" in capsys.readouterr().err
    rows = episodes()
    assert sum(row.agent == "oracle" and row.status == "completed" for row in rows) == 4
    with LogReader(Path("log.db")) as log:
        assert log.runs()[0].ended is None


WAITING = """
    import time
    from pathlib import Path

    from agents.baselines.oracle import OracleAgent
    from agents.registry import AgentForm

    class Waiting(OracleAgent):
        def act(self, observation):
            while observation is not None and not Path("go").exists():
                time.sleep(0.01)
            return super().act(observation)

    FORM = AgentForm(("waiting",), lambda _rest, _read_calls: Waiting())
"""
"""An agent that waits in mid-episode until the test lets it go on."""


@contextmanager
def waiting_run() -> Iterator[tuple[Plugin, subprocess.Popen[str]]]:
    """A run of four episodes on two workers, both of which are in the middle of one."""
    agents = Plugin(
        Path.cwd(), "waiting", "pathrig.agents", {"waiting": "waiting:FORM"}, {"waiting.py": WAITING}
    )
    command = [sys.executable, "-m", "core_eval.cli.entry", "run", *ONE, "--agent", "waiting", "--jobs", "2"]
    command += ["--episodes", "4", "--db", "log.db", "--json"]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        assert wait_for(lambda: len(workers()) == 2)
        yield agents, run
    finally:
        Path("go").touch()
        run.kill()
        run.wait()


def episodes() -> list[EpisodeRow]:
    with LogReader(Path("log.db")) as log:
        return log.episodes()


def workers() -> list[int]:
    """Return the processes that have begun an episode; none while the log is not written yet."""
    with (
        suppress(LogError),
        LogReader(Path("log.db")) as log,
        closing(log.connection.execute("SELECT DISTINCT pid FROM episode")) as rows,
    ):
        return [process for (process,) in rows]
    return []


def resumed_whole(agents: Plugin, *options: str) -> None:
    """Resume the run of the log, and see that each episode was run to its end once."""
    done = agents.main(AGENT_FORMS, "run", "--resume", "--db", "log.db", "--json", *options)
    assert done.returncode == 0, done.stderr
    assert sorted(row.number for row in episodes() if row.status == "completed") == list(range(4))


@pytest.mark.slow
def test_a_worker_that_is_killed_costs_its_episode_alone() -> None:
    with waiting_run() as (agents, run):
        os.kill(workers()[0], signal.SIGKILL)
        Path("go").touch()
        _, told = run.communicate(timeout=60)
        assert run.returncode == 3 and "has died" in told and "can be resumed" in told
    assert sorted(row.status for row in episodes() if row.number < 2) == ["aborted", "completed"]
    resumed_whole(agents, "--jobs", "2")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_worker_outlives_the_run(number: signal.Signals) -> None:
    with waiting_run() as (agents, run):
        both = workers()
        run.send_signal(number)
        Path("go").touch()
        run.communicate(timeout=60)
        assert run.returncode == (128 + number if number is signal.SIGTERM else -number)
        assert wait_for(lambda: not any(Path(f"/proc/{process}").exists() for process in both))
    resumed_whole(agents)
