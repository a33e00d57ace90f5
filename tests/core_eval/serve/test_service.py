"""`pathrig serve` as a process: works on schedule, tells systemd, and stops rigs truthfully."""

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from bridge_rig import Mosquitto
from processes import ended, wait_for

from configs.suites import read_suite
from core_eval.cli.main import main
from core_eval.log import LogError, LogReader, RunLog, ignore
from core_eval.run.config import Cell, RunConfig
from core_eval.run.parts import load_parts
from core_eval.run.plan import Run
from core_eval.serve.day_files import logs
from core_eval.serve.notify import Notifier
from core_eval.serve.serve_file import Schedule
from core_eval.serve.service import Commands, Service
from core_eval.serve.transfer import Sent

LONG = """
folder: out
rigs: ['sim:farm_rover', barn.yaml]
schedule:
  - {name: long, every: 1s, tasks: [water_one_plant], agents: [random], episodes: 300}
"""


class Manager:
    """A stand-in of systemd's end of the socket."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "notify"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(self.path))
        self._socket.settimeout(0.0)
        self._told: list[str] = []

    def told(self) -> list[str]:
        while True:
            try:
                self._told += self._socket.recv(4096).decode().splitlines()
            except BlockingIOError:
                return self._told


@contextmanager
def served(folder: Path, text: str, manager: Manager | None = None) -> Iterator[subprocess.Popen[bytes]]:
    file = folder / "serve.yaml"
    file.write_text(text)
    (folder / "barn.yaml").write_text("name: barn\nurl: mqtt://127.0.0.1:9/barn\ndevice: farm_rover\n")
    environment = dict(os.environ)
    if manager is not None:
        environment |= {"NOTIFY_SOCKET": str(manager.path), "WATCHDOG_USEC": "2000000"}
    process = subprocess.Popen(
        [sys.executable, "-m", "core_eval.cli.main", "serve", str(file)],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def status(folder: Path) -> dict[str, Any]:
    try:
        return json.loads((folder / "out" / "status.json").read_text())  # type: ignore[no-any-return]
    except OSError:
        return {"rigs": {}}


def rig(folder: Path, name: str) -> dict[str, Any]:
    return status(folder)["rigs"].get(name, {"state": "", "runs": 0})  # type: ignore[no-any-return]


def running_log(folder: Path) -> Path | None:
    found = logs(folder / "out") if (folder / "out").is_dir() else []
    try:
        with LogReader(found[0]) as reader:
            return found[0] if any(one.status == "running" for one in reader.episodes()) else None
    except (IndexError, LogError):
        return None


@pytest.mark.stops
def test_a_rig_works_another_does_not_answer_and_a_hangup_stops_the_first(tmp_path: Path) -> None:
    manager = Manager(tmp_path)
    with served(tmp_path, LONG, manager) as process:
        assert wait_for(lambda: manager.told() and rig(tmp_path, "barn")["state"] == "does not answer", 40)
        log = wait_for(lambda: manager.told() and running_log(tmp_path), 40)
        assert isinstance(log, Path) and log.parent.name == "sim_farm_rover"
        # It waits to be asked again.
        assert rig(tmp_path, "barn")["waiting"] == ["long"]
        process.send_signal(signal.SIGHUP)
        assert process.wait(40) == 129
    told = manager.told()
    assert told.index("READY=1") < told.index("WATCHDOG=1") < told.index("STOPPING=1")
    assert any("no answer from barn" in line for line in told)
    assert status(tmp_path)["stopping"] == "stopped"
    with LogReader(log) as reader:
        assert reader.episodes()[-1].stop == "confirmed"
    assert rig(tmp_path, "sim_farm_rover")["last"]["outcome"] == "stopped"
    assert "cannot reach the broker" in (tmp_path / "out" / "barn" / f"{log.stem}.log").read_text()


@pytest.mark.nightly
@pytest.mark.stops
def test_a_killed_service_leaves_no_worker(tmp_path: Path) -> None:
    with served(tmp_path, LONG) as process:
        log = wait_for(lambda: running_log(tmp_path), 40)
        assert isinstance(log, Path)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        worker = min(map(int, children))
        process.kill()
        process.wait()
        assert ended(worker)
    with LogReader(log) as reader:
        assert reader.episodes()[-1].stop == "confirmed"


@pytest.mark.nightly
def test_what_kill_9_cut_goes_on_when_the_service_begins_again(tmp_path: Path) -> None:
    text = LONG.replace("every: 1s", "every: 1h").replace("episodes: 300", "episodes: 4")
    text = text.replace(", barn.yaml", "")
    with served(tmp_path, text) as process:
        log = wait_for(lambda: running_log(tmp_path), 40)
        assert isinstance(log, Path)
        # As a power cut does: nobody is left who could write a word.
        with LogReader(log) as reader:
            (worker,) = reader.connection.execute("SELECT pid FROM episode ORDER BY id DESC").fetchone()
        process.kill()
        os.kill(worker, signal.SIGKILL)
        process.wait()
    with served(tmp_path, text) as process:
        assert wait_for(lambda: rig(tmp_path, "sim_farm_rover")["runs"] == 1, 60)
        process.terminate()
        said = process.communicate(timeout=40)[0].decode()
    assert f"of {log}; whether its rig stopped is not known; it goes on with the cut episode" in said
    with LogReader(log) as reader:
        (run,) = reader.runs()
        rows = [(one.number, one.status) for one in reader.episodes()]
    assert run.ended is not None and sum(status == "aborted" for _, status in rows) == 1
    assert sorted(number for number, status in rows if status != "aborted") == [0, 1, 2, 3]


def test_a_manager_that_reads_no_more_holds_up_nothing(tmp_path: Path) -> None:
    manager = Manager(tmp_path)
    notifier = Notifier({"NOTIFY_SOCKET": str(manager.path)})
    for number in range(5000):
        notifier.tell(STATUS=f"{number}\nREADY=0")
    # Its text stays one line.
    assert manager.told()[0] == "STATUS=0 READY=0"
    assert notifier.period is None


TO_SEND = """
folder: out
rigs: ['sim:navigation']
schedule:
  - {name: short, every: 1h, suites: [short.yaml], agents: [oracle]}
collector: {url: 'URL', site: farm}
"""


@pytest.mark.nightly
@pytest.mark.broker
def test_what_one_service_runs_another_collects(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    task = read_suite("navigation").tasks[0].id
    with Mosquitto() as broker:
        text = TO_SEND.replace("suites: [short.yaml]", f"tasks: [{task}]").replace("URL", broker.url)
        collect = f"folder: out\ncollect: {{url: '{broker.url}'}}"
        with served(there, collect) as collector, served(here, text) as sender:
            assert wait_for(lambda: logs(there / "out"), 60)
            for process in (sender, collector):
                process.terminate()
                assert process.wait(30) == 143
    (copy,), (original,) = logs(there / "out"), logs(here / "out")
    assert copy.relative_to(there / "out") == Path("farm") / original.relative_to(here / "out")
    with LogReader(copy) as one, LogReader(original) as other:
        assert one.steps(1) == other.steps(1) != []


def test_a_folder_has_one_service(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "serve.yaml"
    file.write_text(LONG.replace("barn.yaml", "'sim:navigation'"))
    (tmp_path / "out").mkdir()
    with (tmp_path / "out" / ".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert main(["serve", str(file)]) == 2
    assert "another `pathrig serve` works in" in capsys.readouterr().err


def test_a_worker_that_cannot_be_started_is_tried_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "serve.yaml"
    file.write_text(LONG.replace("barn.yaml", "'sim:navigation'") + "ask_again: 2s\n")
    schedule = Schedule(file)
    wrong = Commands(lambda *_: [str(tmp_path / "no program")], lambda *_: [], lambda _: [])
    service = Service(schedule, wrong, Notifier({}))
    for name in service.workers:
        (schedule.folder / name).mkdir(parents=True)
    service._tick()
    assert capsys.readouterr().out.count("cannot be started: No such file or directory") == 2
    service._tick()
    assert capsys.readouterr().out == ""
    assert all(len(worker.waiting) == 1 for worker in service.workers.values())


def test_old_logs_go_when_they_are_sent(tmp_path: Path) -> None:
    file = tmp_path / "serve.yaml"
    file.write_text(TO_SEND.replace("suites: [short.yaml]", "suites: [navigation]") + "keep: {days: 3}\n")
    file.write_text(file.read_text().replace("URL", "mqtt://127.0.0.1:9"))
    schedule = Schedule(file)
    commands = Commands(lambda *_: [], lambda *_: [], lambda _: [])
    service = Service(schedule, commands, Notifier({}))
    folder = schedule.folder / "sim_navigation"
    folder.mkdir(parents=True)
    log, note = folder / "2026-01-01.db", folder / "2026-01-01.log"
    run_done(log)
    note.write_text("x")
    service._tidy()
    assert log.exists() and note.exists()
    with Sent(schedule.folder) as sent:
        sent.add(log, 1)
    service._tidy()
    assert not log.exists() and not note.exists()


def run_done(db: Path) -> None:
    cell = Cell(task=read_suite("navigation").tasks[0].id, rig="sim:navigation", agent="done")
    config = RunConfig(cells=(cell,))
    with RunLog(db) as log:
        Run(config, load_parts(config), log, ignore).start()
