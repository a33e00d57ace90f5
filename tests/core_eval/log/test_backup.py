"""`pathrig log backup`: a copy of a log that misses nothing, while it is written too."""

import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from threading import Event, Thread

import pytest
from episode_start import START

from core_eval.cli.main import main
from core_eval.log import Intent, LogReader, RunLog, Turn
from core_eval.log.connection import migrate, wal_of
from core_eval.log.schema import MIGRATIONS


def steps_of(path: Path) -> int:
    with LogReader(path) as reader:
        return sum(len(reader.steps(episode.id)) for episode in reader.episodes())


def test_a_running_log_is_copied_whole_where_a_copy_of_its_file_is_not(tmp_path: Path) -> None:
    live, plain, copy = tmp_path / "live.db", tmp_path / "plain.db", tmp_path / "copy.db"
    with RunLog(live) as log:
        episode = log.begin_episode(log.begin_run({}, {}, {}), START)
        log.connection.execute("PRAGMA wal_checkpoint")
        for k in range(20):
            episode.intent(Intent(k, "move_home", {}, call_id=f"c{k}"), Turn("go"))
        shutil.copyfile(live, plain)
        assert main(["log", "backup", str(live), str(copy)]) == 0
        episode.intent(Intent(20, "move_home", {}, call_id="c20"), Turn("go"))
    assert (steps_of(plain), steps_of(copy), steps_of(live)) == (0, 20, 21)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db", "live.db", "plain.db"]


def test_a_copy_is_one_moment_of_a_log_that_is_written_all_the_time(tmp_path: Path) -> None:
    live = tmp_path / "live.db"
    enough, written = Event(), 0

    def write() -> None:
        nonlocal written
        with RunLog(live) as log:
            episode = log.begin_episode(log.begin_run({}, {}, {}), START)
            while not enough.wait(0.001):
                episode.intent(Intent(written, "move_home", {}, call_id="c"), Turn("go"))
                written += 1

    writer = Thread(target=write)
    writer.start()
    try:
        while written < 50:
            assert writer.is_alive()
            time.sleep(0.01)
        seen = []
        for number in range(5):
            before = written
            assert main(["log", "backup", str(live), str(tmp_path / f"copy{number}.db")]) == 0
            seen.append((before, steps_of(tmp_path / f"copy{number}.db")))
        after = written
    finally:
        enough.set()
        writer.join(20.0)
    assert all(before <= count <= after + 1 for before, count in seen)
    for number in range(5):
        with closing(sqlite3.connect(tmp_path / f"copy{number}.db")) as copy:
            assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            # A step and its turn are one transaction.
            assert copy.execute(
                "SELECT (SELECT count(*) FROM step) - (SELECT count(*) FROM turn)"
            ).fetchone() == (0,)


def test_an_older_log_is_copied_as_it_is(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "old.db", isolation_level=None)) as old:
        migrate(old, tmp_path / "old.db", MIGRATIONS[:1])
    assert main(["log", "backup", str(tmp_path / "old.db"), str(tmp_path / "copy.db")]) == 0
    for name in ("old.db", "copy.db"):
        with closing(sqlite3.connect(tmp_path / name)) as connection:
            assert connection.execute("PRAGMA user_version").fetchone() == (1,)


def test_an_earlier_copy_is_replaced_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    live, copy = tmp_path / "live.db", tmp_path / "copy.db"
    RunLog(copy).close()
    (tmp_path / "notes.txt").write_text("mine")
    with RunLog(live) as log:
        episode = log.begin_episode(log.begin_run({}, {}, {}), START)
        episode.intent(Intent(0, "move_home", {}, call_id="c0"), Turn("go"))
        assert main(["log", "backup", str(live), str(copy)]) == 0
        assert steps_of(copy) == 1
        capsys.readouterr()
        for target, said in (
            (live, "is the log itself"),
            (tmp_path / "notes.txt", "is no log"),
            (tmp_path / "none" / "copy.db", "cannot be written: No such file or directory"),
        ):
            assert main(["log", "backup", str(live), str(target)]) == 2
            errors = capsys.readouterr().err
            assert said in errors and errors.count("\n") == 1
        with RunLog(copy) as other:
            other.begin_run({}, {}, {})
            assert wal_of(copy).exists()
            assert main(["log", "backup", str(live), str(copy)]) == 2
            assert "is in use as a log" in capsys.readouterr().err
    assert main(["log", "backup", str(tmp_path / "none.db"), str(copy)]) == 2
    assert "there is no such log" in capsys.readouterr().err
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db", "live.db", "notes.txt"]
