"""`run --dask`: the log of one process, whatever worker dies and however the run is cut."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from processes import wait_for

from core_eval.cli.main import main
from core_eval.log import LogError, LogReader, RunLog, ignore
from core_eval.log.episode_copy import adopt
from core_eval.log.verified import verify
from core_eval.run import side_by_side
from core_eval.run.config import Cell, RunConfig
from core_eval.run.elsewhere import Found, Numbers, Played
from core_eval.run.parts import load_parts
from core_eval.run.plan import Run
from core_eval.run.side_by_side import SideBySide

MAIL = ["--task", "mail_to_two", "--rig", "sim:communication", "--no-floors"]
OF_THE_MACHINE = {
    "episode": {"started", "ended", "seconds", "pid", "process_start", "boot_id"},
    "step": {"t_intent", "t_result", "call_id"},
    "turn": {"seconds"},
    "scoring": {"created"},
    "truth_row": {"call_id"},
}
COSTS = ("agent_seconds", "wall_seconds", "peak_memory", "energy", "energy_above_idle", "host_seconds")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as found:
        yield found


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def rows(log: str) -> dict[str, list[dict[str, Any]]]:
    """Return all of a log but times, processes, costs of the machine, and when a rig was opened."""
    found = {}
    with closing(sqlite3.connect(log)) as connection:
        connection.row_factory = sqlite3.Row
        for table in ("episode", "definition", "prompt", *OF_THE_MACHINE, "sample", "score", "truth_whole"):
            drop = OF_THE_MACHINE.get(table, set())
            sql = f"SELECT * FROM {table}"
            every = [{k: v for k, v in dict(row).items() if k not in drop} for row in connection.execute(sql)]
            found[table] = [row for row in every if row.get("metric") not in COSTS]
    return found


def test_episodes_that_come_from_other_logs_are_as_if_run_here() -> None:
    cells = [Cell(task="mail_to_two", rig="sim:communication", agent=spec) for spec in ("oracle", "random")]
    config = RunConfig(cells=tuple(cells), episodes=2)
    for name, spread in (("one.db", None), ("two.db", one_after_the_other)):
        with RunLog(Path(name)) as log:
            # What stands there before moves all ids.
            log.begin_run({}, {}, {})
            parts = load_parts(config)
            run = Run(config, parts, log, ignore)
            (run if spread is None else SideBySide(config, parts, log, ignore, 1, spread)).start()
    one, two = rows("one.db"), rows("two.db")
    assert len(one["episode"]) == 4 and one == two
    assert verify(Path("two.db")).misfit is None
    with RunLog(Path("two.db")) as log, pytest.raises(LogError, match="cut off"):
        adopt(log, 1, b"x")


def one_after_the_other(work: Callable[[Numbers], Played], parts: Iterable[Numbers]) -> Found:
    for part in parts:
        yield part, work(part)


@pytest.mark.interop
@pytest.mark.slow
def test_a_killed_workers_episodes_are_run_by_another_and_none_is_written_twice(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["run", *MAIL, "--agent", "oracle", "--agent", "mutated:0.5", "--episodes", "8", "--json"]
    assert main([*command, "--db", "one.db"]) == 0
    pids = [worker.pid for worker in cluster.workers.values()]
    left = iter(pids[:1])

    def kill(*given: Any) -> int:
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        return adopt(*given)

    monkeypatch.setattr(side_by_side, "adopt", kill)
    assert main([*command, "--db", "two.db", "--dask", cluster.scheduler_address]) == 0
    assert next(left, None) is None
    one, two = rows("one.db"), rows("two.db")
    assert len(one["episode"]) == 16 and one == two
    found = verify(Path("two.db"))
    assert found.misfit is None and found.runs[0].episodes == 16


@pytest.mark.interop
@pytest.mark.slow
def test_an_agent_that_fails_ends_as_with_one_process(cluster: Any) -> None:
    Path("gone.py").write_text("raise SystemExit(3)\n")
    gone = f"command:{sys.executable} {Path('gone.py').resolve()}"
    command = ["run", *MAIL, "--agent", gone, "--agent", "oracle", "--episodes", "3", "--allow-programs"]
    assert main([*command, "--db", "one.db", "--json"]) == 3
    assert main([*command, "--db", "two.db", "--json", "--dask", cluster.scheduler_address]) == 3
    logs = []
    for name in ("one.db", "two.db"):
        with LogReader(Path(name)) as log:
            logs.append([(row.number, row.agent, row.status, row.stop) for row in log.episodes()])
            assert log.runs()[0].ended is None
    assert logs[0] == logs[1] and len(logs[0]) == 4


def done(name: str) -> list[int]:
    with suppress(LogError), LogReader(Path(name)) as log:
        return [row.number for row in log.episodes() if row.status == "completed"]
    return []


@pytest.mark.interop
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_cut_has_whole_episodes_alone_and_is_resumed(
    number: signal.Signals, cluster: Any
) -> None:
    dask = ["--dask", cluster.scheduler_address, "--json"]
    command = [sys.executable, "-m", "core_eval.cli.entry", "run", *MAIL, "--agent", "random"]
    command += ["--episodes", "20", "--db", "log.db", *dask]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        assert wait_for(lambda: bool(done("log.db")))
        run.send_signal(number)
        run.wait(timeout=60)
    assert run.returncode == (130 if number is signal.SIGINT else -number)
    with LogReader(Path("log.db")) as log:
        before = [row.status for row in log.episodes()]
        assert set(before) == {"completed"} and log.runs()[0].ended is None
    assert main(["run", "--resume", "--db", "log.db", *dask]) == 0
    assert sorted(done("log.db")) == list(range(20))
    assert verify(Path("log.db")).misfit is None


def test_no_cluster_leaves_no_run_and_machines_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    task = ["run", "--task", "water_one_plant", "--agent", "oracle", "--dask", "tcp://127.0.0.1:9"]
    assert main([*task, "--rig", "mqtt://user:secret@localhost/rover"]) == 2
    told = capsys.readouterr().err
    assert "is a machine, which no cluster has" in told and "secret" not in told and told.count("\n") == 1
