import sqlite3
from pathlib import Path

import pytest

from core_eval.log import LogError, LogReader, RunLog
from core_eval.log.connection import connect, migrate
from core_eval.log.schema import MIGRATIONS


def test_a_new_file_has_the_pragmas_of_the_contract(tmp_path: Path) -> None:
    connection = connect(tmp_path / "log.db")
    assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA foreign_keys").fetchone() == (1,)
    assert connection.execute("PRAGMA synchronous").fetchone() == (1,)
    tables = connection.execute(
        "SELECT name, strict FROM pragma_table_list WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    ).fetchall()
    assert {"run", "episode", "step", "sample", "harm", "score", "truth"} <= {name for name, _ in tables}
    assert all(strict for _, strict in tables)
    connection.close()
    connection = connect(tmp_path / "log.db", durable=True)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    connection.close()


def test_an_older_file_is_migrated_with_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with RunLog(path) as log:
        log.begin_run({"a": 1}, {}, {})
    connection = sqlite3.connect(path, isolation_level=None)
    later = (*MIGRATIONS, "ALTER TABLE run ADD COLUMN note TEXT;\nUPDATE run SET note = 'old; file';\n")
    migrate(connection, path, later)
    assert connection.execute("PRAGMA user_version").fetchone() == (len(later),)
    assert connection.execute("SELECT config, note FROM run").fetchall() == [('{"a":1}', "old; file")]
    connection.close()


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    RunLog(path).close()
    connection = sqlite3.connect(path, isolation_level=None)
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, path, (*MIGRATIONS, "CREATE TABLE extra (x) STRICT;\nCREATE TABLE run (id);\n"))
    assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    assert connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'extra'").fetchone() == (0,)
    connection.close()


def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    RunLog(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(LogError, match=r"log\.db: has log schema 99, .* upgrade pathrig"):
        RunLog(path)
    with pytest.raises(LogError, match="upgrade pathrig"):
        LogReader(path)


def test_other_files_are_refused_and_left_as_they_are(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE mine (x)")
    connection.commit()
    connection.close()
    text = tmp_path / "notes.db"
    text.write_text("no database at all, and longer than a header would be " * 4)
    before = other.read_bytes(), text.read_bytes()
    for path in (other, text):
        with pytest.raises(LogError, match=path.name):
            RunLog(path)
    assert (other.read_bytes(), text.read_bytes()) == before
    with pytest.raises(LogError, match="there is no such log"):
        LogReader(tmp_path / "none.db")
    with pytest.raises(LogError, match="folder that exists"):
        RunLog(tmp_path / "no" / "folder.db")


def test_a_read_only_log_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.db"
    with RunLog(path) as log:
        log.begin_run({}, {}, {})
    monkeypatch.setattr("os.access", lambda *_: False)
    with LogReader(path) as reader:
        assert len(reader.runs()) == 1
        with pytest.raises(sqlite3.OperationalError):
            reader.connection.execute("DELETE FROM run")
