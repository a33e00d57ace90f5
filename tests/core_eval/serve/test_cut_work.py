"""What `pathrig serve` makes of a run that was cut: by a kill, by a power cut, or by its own end."""

import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from episode_start import START
from processes import wait_for

from core_eval.log import LogReader, RunLog
from core_eval.serve.cut_work import Work, WorkNote
from core_eval.serve.notify import Notifier
from core_eval.serve.serve_file import Schedule
from core_eval.serve.service import SILENT, Commands, Service
from core_eval.serve.transfer import Sent

SIMULATOR, MACHINE = "sim:farm_rover", "mqtt://127.0.0.1:9/barn"
NAMES = {SIMULATOR: "sim_farm_rover", MACHINE: "barn"}


@dataclass
class Field:
    """A schedule of one rig, whose workers are programs of the test's own."""

    folder: Path
    rig: str
    keys: str = ""
    file: str = ""
    worker: tuple[str, ...] = ("true",)
    given: list[list[str]] = field(default_factory=list)

    def schedule(self) -> Schedule:
        path = self.folder / "serve.yaml"
        (self.folder / "barn.yaml").write_text(f"name: barn\nurl: {MACHINE}\ndevice: farm_rover\n")
        rig = "barn.yaml" if self.rig == MACHINE else self.rig
        # Due in the far future only, so that all work is what was left.
        entry = f"{{name: night, at: ['{time.strftime('%H:%M', time.localtime(time.time() - 3600))}'],"
        entry += f" tasks: [water_one_plant], agents: [random], episodes: 3{self.keys}}}"
        path.write_text(f"folder: out\nrigs: ['{rig}']\nschedule:\n  - {entry}\n{self.file}")
        return Schedule(path)

    @property
    def logs(self) -> Path:
        return self.folder / "out" / NAMES[self.rig]

    def cut(self, *, episodes: int = 1, begun: float | None = None) -> Path:
        """Leave a note and a log as a power cut does."""
        schedule = self.schedule()
        self.logs.mkdir(parents=True)
        log = self.logs / "2026-01-02.db"
        options = tuple(schedule.options(schedule.keys.schedule[0], 7))
        work = Work(
            entry="night", options=options, seed=7, begun=begun or time.time(), log=log.name, before=0
        )
        os.close(WorkNote(self.logs).write(work))
        if (child := os.fork()) == 0:
            with RunLog(log) as written:
                run = written.begin_run({}, {}, {})
                for _ in range(episodes):
                    written.begin_episode(run, START)
                os._exit(0)
        os.waitpid(child, 0)
        return log

    def service(self) -> Service:
        def work(_rig: str, _ask: bool, words: list[str]) -> list[str]:
            self.given.append(list(words))
            return list(self.worker)

        service = Service(self.schedule(), Commands(work, lambda *_: [], lambda _: []), Notifier({}))
        service._tick()
        return service


def test_on_a_simulator_it_goes_on_and_the_log_names_the_cut_episode(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here = Field(tmp_path, SIMULATOR)
    log = here.cut()
    service = here.service()
    assert here.given == [[f"--rig={SIMULATOR}", f"--db={log}", "--resume"]]
    assert capsys.readouterr().out == (
        f"sim_farm_rover: night: was cut in episode 1 (farm/one, scripted) of {log}; whether its rig stopped "
        "is not known; it goes on with the cut episode, from its start\n"
    )
    with LogReader(log) as reader:
        assert [one.status for one in reader.episodes()] == ["aborted"]
    worker = service.workers["sim_farm_rover"]
    assert worker.counts["cut"] == 1 and worker.note.path.exists()
    assert wait_for(lambda: service._tick() or worker.job is None, 10)
    assert not worker.note.path.exists()


@pytest.mark.parametrize(
    ("keys", "file", "begun", "why"),
    [
        ("", "", None, "(after_cut: leave)"),
        (", after_cut: repeat, seed: 9", "", None, "its entry is not as it was"),
        (", after_cut: repeat", "longest: 1h", 3700.0, "it began longer ago than a run may take"),
    ],
)
def test_a_machine_does_nothing_twice_unasked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], keys: str, file: str, begun: float | None, why: str
) -> None:
    here = Field(tmp_path, MACHINE, file=file, keys=keys if "seed" not in keys else "")
    log = here.cut(begun=None if begun is None else time.time() - begun)
    here.keys = keys
    worker = here.service().workers["barn"]
    assert here.given == [] and not worker.waiting and not worker.note.path.exists()
    assert why in capsys.readouterr().out and why in str(worker.last)
    with LogReader(log) as reader:
        assert [one.status for one in reader.episodes()] == ["aborted"]


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (
            ", after_cut: rest, durable: true, safe_tools: [recharge]",
            ["--resume-rest", "--durable", "--safe-tool=recharge"],
        ),
        (", after_cut: repeat", ["--resume"]),
    ],
)  # fmt: skip
def test_a_machine_goes_on_as_its_entry_says_also_if_it_does_not_answer_at_once(
    tmp_path: Path, keys: str, words: list[str]
) -> None:
    here = Field(tmp_path, MACHINE, keys, "ask_again: 1s", worker=("sh", "-c", f"exit {SILENT}"))
    log = here.cut()
    service = here.service()
    worker = service.workers["barn"]
    assert wait_for(lambda: service._tick() or len(here.given) == 2, 10)
    asked = [f"--rig={tmp_path / 'barn.yaml'}", f"--db={log}", *words]
    assert here.given == [asked, asked]
    # Cut once more while its rig is silent, it is still known.
    assert worker.note.path.exists()
    service._end_all(15)


def test_rest_needs_a_log_that_a_power_cut_does_not_shorten(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="after_cut: rest needs durable: true"):
        Field(tmp_path, MACHINE, ", after_cut: rest").schedule()


def test_what_had_not_begun_begins_with_its_own_seed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here = Field(tmp_path, SIMULATOR)
    log = here.cut(episodes=0)
    here.service()
    assert f"before its first episode, as far as {log} tells; it begins anew" in capsys.readouterr().out
    assert "--seed=7" in here.given[0] and "--resume" not in here.given[0]


def test_a_run_that_had_ended_was_not_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here = Field(tmp_path, SIMULATOR)
    log = here.cut()
    with RunLog(log) as written:
        written.end_run(1)
    worker = here.service().workers["sim_farm_rover"]
    assert here.given == [] and worker.counts["cut"] == 0 and not worker.note.path.exists()
    assert capsys.readouterr().out == ""


def test_another_run_in_the_log_is_not_taken_for_it(tmp_path: Path) -> None:
    here = Field(tmp_path, SIMULATOR)
    log = here.cut()
    with RunLog(log) as written:
        written.begin_episode(written.begin_run({}, {}, {}), START).end("interrupted")
    worker = here.service().workers["sim_farm_rover"]
    assert here.given == [] and "a later run that is not complete" in str(worker.last)


def test_a_note_that_the_power_cut_tore_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here = Field(tmp_path, SIMULATOR)
    here.cut()
    note = here.logs / ".work.json"
    note.write_bytes(note.read_bytes()[:20])
    here.service()
    assert here.given == [] and "its note cannot be read" in capsys.readouterr().out and not note.exists()


def test_a_worker_that_outlives_its_service_is_waited_for(tmp_path: Path) -> None:
    here = Field(tmp_path, SIMULATOR)
    here.cut()
    note = WorkNote(here.logs)
    work = note.read()
    assert work is not None
    lock = note.write(work)
    service = here.service()
    assert here.given == [] and service.workers["sim_farm_rover"].state == "its last worker ends"
    os.close(lock)
    service._tick()
    assert len(here.given) == 1


def test_an_ended_service_goes_on_with_what_it_ended(tmp_path: Path) -> None:
    wait = "from signal import *; signal(15, lambda *_: exit(143)); print(1, flush=True); pause()"
    here = Field(tmp_path, SIMULATOR, worker=(sys.executable, "-c", wait))
    here.cut()
    service = here.service()
    assert wait_for(lambda: (here.logs / "2026-01-02.log").read_text() == "1\n", 10)
    # Another service would not take it for cut yet.
    assert WorkNote(here.logs).held()
    service._stop(143)
    again = here.service()
    assert again.workers["sim_farm_rover"].counts["cut"] == 1 and len(here.given) == 2
    again._stop(143)


def test_a_log_of_yesterday_is_not_complete_while_its_run_goes_on(tmp_path: Path) -> None:
    here = Field(tmp_path, SIMULATOR)
    log = here.cut()
    with Sent(here.folder / "out") as sent:
        assert sent.left(log) == []
        WorkNote(here.logs).remove()
        assert sent.left(log) == [1]
