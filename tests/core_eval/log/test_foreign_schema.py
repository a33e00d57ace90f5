"""A log from somebody else: what its schema holds beside ours, or in place of ours."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from old_logs import old_log

from core_eval.cli.main import main
from core_eval.log import LogError, LogReader, RunLog, reader
from core_eval.log.connection import connect, migrate
from core_eval.log.schema import MIGRATIONS, register

RUN = ["run", "--task", "water_one_plant", "--rig", "sim:farm_rover", "--agent", "random", "--db"]
READERS = (["show"], ["harm"], ["score", "--db"], ["report", "-o", "/dev/null"], ["show", "--json"])
ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
BETTER = (
    "CREATE TRIGGER better AFTER INSERT ON score WHEN new.metric = 'path_correctness' BEGIN UPDATE score"
    " SET value = 1.0 WHERE episode_id = new.episode_id AND metric = new.metric; END"
)
OTHERS = {
    "trigger better": BETTER,
    "trigger gone": "CREATE TRIGGER gone AFTER INSERT ON run BEGIN DELETE FROM score; END",
    "trigger scoring": "CREATE TRIGGER scoring INSTEAD OF INSERT ON story BEGIN SELECT 1; END",
    "view mine": "CREATE VIEW mine AS SELECT count(*) FROM episode",
    "table notes": "CREATE TABLE notes (text)",
    "index by_task": "CREATE INDEX by_task ON episode(task)",
}
CHANGED = {
    "table failure": f"DROP TABLE failure; CREATE VIEW failure AS {ENDLESS} SELECT x AS episode_id FROM n",
    "view failure_latest": f"DROP VIEW failure_latest; CREATE VIEW failure_latest AS {ENDLESS}"
    " SELECT 1 AS episode_id, 'a' AS label, 'rig' AS level, 1 AS scoring_id FROM n",
    "view score_latest": "DROP VIEW score_latest;"
    " CREATE VIEW score_latest AS SELECT episode_id, metric, 1.0 AS value, scoring_id FROM score",
    "table score": "DROP TABLE score; CREATE TABLE score (episode_id INTEGER, metric TEXT,"
    " scoring_id INTEGER, value REAL GENERATED ALWAYS AS (1.0))",
    "index harm_episode": "DROP INDEX harm_episode",
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "log.db"
    assert main([*RUN, str(path)]) == 0
    return path


@pytest.fixture
def log(whole: Path, tmp_path: Path) -> Path:
    path = tmp_path / "log.db"
    shutil.copyfile(whole, path)
    return path


def change(path: Path, script: str) -> bytes:
    """Change a log by hand; return what the file then holds."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA legacy_alter_table = ON")
        connection.executescript(script)
        connection.execute("PRAGMA journal_mode = DELETE")
    return path.read_bytes()


def refused(command: list[str], path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    first = 2 if command[0] == "log" else 1
    given = [*command, str(path)] if "--db" in command else [*command[:first], str(path), *command[first:]]
    assert main(given) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.startswith(f"pathrig: {path}: ") and told.err.count("\n") == 1
    return told.err


@pytest.mark.parametrize("name", OTHERS)
def test_a_log_with_a_thing_of_others_is_read_and_never_written(
    log: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    before = change(log, OTHERS[name])
    assert f"is not pathrig's, so nothing is written to it: {name}; drop it (DROP " in refused(
        RUN, log, capsys
    )
    with pytest.raises(LogError, match="nothing is written to it"):
        RunLog(log)
    assert log.read_bytes() == before
    for command in READERS:
        assert main([*command, str(log)] if "--db" in command else [command[0], str(log), *command[1:]]) == 0
    capsys.readouterr()
    assert main(["score", "--db", str(log), "--write"]) == 2
    assert name in capsys.readouterr().err
    assert log.read_bytes() == before


@pytest.mark.parametrize("name", CHANGED)
def test_a_log_without_a_thing_of_ours_is_not_even_read(
    log: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    before = change(log, CHANGED[name])
    for command in (*READERS, RUN, ["log", "backup", str(log.with_name("copy.db"))]):
        told = refused(command, log, capsys)
        assert f"makes a log of schema {len(MIGRATIONS)}: {name} is missing or changed" in told
    assert log.read_bytes() == before


def test_an_older_log_with_a_trigger_is_not_brought_up_to_date(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = old_log(4, tmp_path)
    before = change(path, "CREATE TRIGGER gone AFTER UPDATE ON harm BEGIN DELETE FROM score; END")
    assert "trigger gone" in refused(["show"], path, capsys)
    assert path.read_bytes() == before


def test_an_older_log_that_says_it_is_newer_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = old_log(4, tmp_path)
    change(path, "PRAGMA user_version = 9")
    assert "is not as pathrig makes a log of schema 9" in refused(["show"], path, capsys)


def test_what_sqlite_and_other_comments_add_is_no_stranger(log: Path, tmp_path: Path) -> None:
    change(log, "ANALYZE")
    with LogReader(log) as read:
        assert read.episodes()[0].scores
    with closing(connect(log)):
        pass
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other, isolation_level=None)) as connection:
        register(connection)
        migrate(connection, other, [script.replace("-- ", "--  of old:  ") for script in MIGRATIONS])
    with closing(connect(other)):
        pass


def test_bytes_that_are_no_text_are_one_line(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = "CREATE TABLE bad_name (x); PRAGMA writable_schema = ON;"
    update = "UPDATE sqlite_master SET {} = CAST(x'{}' AS TEXT) WHERE name = 'bad_name';"
    for number, damage in enumerate(
        (
            update.format("sql", b"CREATE TABLE bad_name (\xff\xfe".hex()),
            update.format("name", b"bad\xff".hex()),
            update.format("type", b"\xff".hex()),
        )
    ):
        path = log.with_name(f"damaged_{number}.db")
        shutil.copyfile(log, path)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.executescript(script + damage)
        for command in (["show"], ["score", "--db"], RUN, ["log", "backup", str(log.with_name("copy.db"))]):
            capsys.readouterr()
            given = [*command, str(path)] if "--db" in command else [command[0], str(path), *command[1:]]
            status, told = main(given), capsys.readouterr().err
            assert status in (0, 2) and told.count("\n") <= 1 and "Traceback" not in told, (command, told)
            assert status == 2 or command is not RUN
    with closing(sqlite3.connect(log, isolation_level=None)) as connection:
        connection.execute("UPDATE episode SET agent = CAST(x'ff' AS TEXT)")
    assert "Could not decode to UTF-8" in refused(["show"], log, capsys)


def test_a_reader_only_reads_and_not_for_ever(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with LogReader(log) as read:
        for statement in ("DELETE FROM run", "CREATE TEMP TABLE t (x)", "ATTACH ':memory:' AS other"):
            with pytest.raises(sqlite3.DatabaseError, match="not authorized"):
                read.connection.execute(statement)
    with closing(sqlite3.connect(log, isolation_level=None)) as connection:
        # The calls of an episode whose process died are counted.
        connection.execute("UPDATE episode SET status = 'running', boot_id = 'another boot'")
        rows = "WITH RECURSIVE n(x) AS (SELECT 100 UNION ALL SELECT x + 1 FROM n WHERE x < 2100) INSERT INTO"
        connection.execute(f"{rows} step (episode_id, k, tool, t_intent) SELECT 1, x, 'look', 1.0 FROM n")
    with LogReader(log) as read:
        assert (read.episode(1).calls_made or 0) > 2000
    monkeypatch.setattr(reader, "WORK_STEP", 1000)
    monkeypatch.setattr(reader, "MOST_WORK", 5000)
    with LogReader(log) as read, pytest.raises(LogError, match="one row of episode takes too long"):
        read.episode(1)
