"""Logs are read where nothing can be written: a full disk, a folder in which SQLite can make no file."""

import resource
import shutil
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from episode_start import START

from configs.tasks_loader import load_task
from core_eval.log import Intent, LogError, LogReader, RunLog, Turn
from core_eval.log.connection import migrate, wal_of
from core_eval.log.schema import MIGRATIONS

pytestmark = pytest.mark.slow

PATHRIG = [sys.executable, "-m", "core_eval.cli.main"]


def a_log_of_a_killed_run(path: Path, steps: int = 3) -> None:
    """Nothing of it is folded in, as after kill -9: the .db file alone misses its rows."""
    made = path.with_name("made.db")
    with RunLog(made) as log:
        log.connection.execute("PRAGMA wal_autocheckpoint = 0")
        automaton = load_task("water_one_plant").automaton.to_json()
        start = replace(START, definition=replace(START.definition, automaton=automaton))
        episode = log.begin_episode(log.begin_run({}, {}, {}), start)
        for k in range(steps):
            episode.intent(Intent(k, "move_home", {}, call_id=f"c{k}"), Turn("go"))
        log.connection.execute("UPDATE episode SET boot_id = 'another boot'")
        shutil.copyfile(made, path)
        shutil.copyfile(wal_of(made), wal_of(path))


def no_room() -> None:
    """Writing to any file fails from here on, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@pytest.mark.parametrize(
    "command", [["show"], ["show", "--episode", "1"], ["harm"], ["report", "-o", "/dev/stdout"]]
)
def test_a_log_is_read_on_a_full_disk(tmp_path: Path, command: list[str]) -> None:
    path = tmp_path / "log.db"
    a_log_of_a_killed_run(path)
    sqlite3.connect(path).execute("PRAGMA wal_checkpoint(TRUNCATE)").connection.close()
    assert not wal_of(path).exists()
    before = path.read_bytes()
    done = subprocess.run(
        [*PATHRIG, command[0], str(path), *command[1:]],
        capture_output=True, text=True, check=False, preexec_fn=no_room,
    )  # fmt: skip
    wrote = f"pathrig: /dev/stdout holds the report of {path}\n"
    assert (done.returncode, done.stderr.removeprefix(wrote)) == (0, "")
    assert command == ["harm"] or "aborted" in done.stdout
    assert path.read_bytes() == before


def test_the_newest_rows_are_read_where_no_file_can_be_made_beside_the_log(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    a_log_of_a_killed_run(path)
    # SQLite follows no link, so it has no -shm file, as in a read-only folder.
    path.with_name("log.db-shm").symlink_to("nowhere")
    files = path.read_bytes(), wal_of(path).read_bytes()
    with LogReader(path) as reader:
        (episode,) = reader.episodes()
        steps = reader.steps(episode.id)
        assert [step.call_id for step in steps] == ["c0", "c1", "c2"]
        assert (episode.status, episode.ended) == ("aborted", steps[-1].t_intent)
        with pytest.raises(sqlite3.DatabaseError, match="not authorized"):
            reader.connection.execute("DELETE FROM run")
    assert (path.read_bytes(), wal_of(path).read_bytes()) == files


def test_where_the_newest_rows_cannot_be_had_it_is_said(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    a_log_of_a_killed_run(path)
    path.with_name("log.db-shm").symlink_to("nowhere")
    done = subprocess.run(
        [*PATHRIG, "show", str(path)], capture_output=True, text=True, check=False, preexec_fn=no_room
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "copy it together with log.db-wal" in done.stderr


def test_a_reader_changes_no_row(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    a_log_of_a_killed_run(path)
    with LogReader(path) as reader:
        assert reader.episodes()[0].status == "aborted"
        assert reader.connection.execute("SELECT status FROM episode").fetchone() == ("running",)
    with RunLog(path) as log:
        assert log.aborted == [1]
    with LogReader(path) as reader:
        (episode,) = reader.episodes()
        assert (episode.status, episode.error) == ("aborted", "its process died")


def test_an_older_log_on_a_full_disk_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    old = sqlite3.connect(path, isolation_level=None)
    migrate(old, path, MIGRATIONS[:2])
    old.close()
    done = subprocess.run(
        [*PATHRIG, "show", str(path)], capture_output=True, text=True, check=False, preexec_fn=no_room
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "older schema 2" in done.stderr and "copy it" in done.stderr


def test_no_log_stays_no_log(tmp_path: Path) -> None:
    (tmp_path / "notes.db").write_text("no database at all, and longer than a header would be " * 4)
    with pytest.raises(LogError, match=r"notes\.db: cannot be read as a log"):
        LogReader(tmp_path / "notes.db")
