import sqlite3
from pathlib import Path

import pytest

from core_eval.log import LogError, LogReader, RunLog
from core_eval.log.connection import connect, migrate
from core_eval.log.schema import MIGRATIONS, register

VERSION_1_ROWS = """
INSERT INTO run VALUES (1, 10.0, NULL, '{}', '{}', '{}');
INSERT INTO definition VALUES (1, 'abc', 'Go.', '{}', NULL, '[]', NULL);
INSERT INTO episode VALUES (1, 1, 0, 't', NULL, 'r', 'farm_rover', 'oracle', 'none', 3, 'completed', 11.0,
    12.0, 'done', NULL, 1, '{}', 1, '{}', 'observe', '{}', '{}', 1, 's', 'b');
INSERT INTO turn VALUES (1, 0, 'go', 1, 2, 3, 0.5);
INSERT INTO step VALUES (1, 1, 0, 'move_home', '{}', 'ok', 'harmful', NULL, 'q', 'q', 11.1, 11.2, '{}', NULL,
    NULL, 'c', 5.0, 5.0, 'allow', NULL);
INSERT INTO sample VALUES (1, 'tank_low', 1, 2.0);
INSERT INTO truth VALUES (1, NULL, 0.0, '{}', '[]');
INSERT INTO rig_status VALUES (1, 1, 11.0, 'device', 'online', NULL);
INSERT INTO harm VALUES (1, 1, 1, 'contact', 'wall', 1, 1.0, 2.0, 0.5, 0.5, NULL);
INSERT INTO score VALUES (1, 'pc_ktc', 0.75);
"""


def test_a_new_file_has_the_pragmas_of_the_contract(tmp_path: Path) -> None:
    connection = connect(tmp_path / "log.db")
    assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA foreign_keys").fetchone() == (1,)
    assert connection.execute("PRAGMA synchronous").fetchone() == (1,)
    tables = connection.execute(
        "SELECT name, strict FROM pragma_table_list WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    ).fetchall()
    assert {"run", "episode", "step", "sample", "harm", "score", "truth_row", "failure"} <= {
        name for name, _ in tables
    }
    assert all(strict for _, strict in tables)
    connection.close()
    connection = connect(tmp_path / "log.db", durable=True)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    connection.close()
    with RunLog(tmp_path / "log.db", durable=True) as log:
        assert log.connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_new_file_is_as_the_scripts_make_it_one_by_one(tmp_path: Path) -> None:
    new = connect(tmp_path / "new.db")
    old = sqlite3.connect(tmp_path / "old.db", isolation_level=None)
    register(old)
    migrate(old, tmp_path / "old.db", MIGRATIONS[:1])
    migrate(old, tmp_path / "old.db")
    made = [
        (
            one.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY rowid").fetchall(),
            one.execute("PRAGMA user_version").fetchone(),
            one.execute("PRAGMA application_id").fetchone(),
        )
        for one in (new, old)
    ]
    assert made[0] == made[1]
    for one in (new, old):
        one.close()


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


def named_rows(connection: sqlite3.Connection, table: str) -> list[dict[str, object]]:
    cursor = connection.execute(f"SELECT * FROM {table}")
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def test_a_version_1_file_is_migrated_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    connection = sqlite3.connect(path, isolation_level=None)
    migrate(connection, path, MIGRATIONS[:1])
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    connection.executescript(VERSION_1_ROWS)
    tables = [
        name
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    ]
    before = {name: named_rows(connection, name) for name in tables}
    assert all(before.values()), "every table has a row"
    connection.close()
    with LogReader(path) as reader:
        (episode,) = reader.episodes()
        assert (episode.scores, episode.failures, episode.pairs) == ({"pc_ktc": 0.75}, (), ())
        assert reader.machine_cost(1).peak_memory is None
        assert [step.tool for step in reader.steps(1)] == ["move_home"]
        assert reader.connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
        (harm,) = reader.harm(1)
        assert (harm.kind, harm.observed, harm.source) == ("contact", True, "truth")
        assert (harm.probability, harm.observed_probability, harm.remedy, harm.trend) == (None,) * 4
        assert (harm.verdict, harm.hidden_at_end, harm.peak) == ("observed", None, None)
        for name, rows in before.items():
            # Later versions may move columns, and add some.
            for old, new in zip(rows, named_rows(reader.connection, name), strict=True):
                assert old.items() <= new.items(), name
        told = reader.connection.execute("SELECT tool, harm, undoes, text FROM story").fetchall()
        assert told == [("move_home", "contact wall", None, "go")]
        assert reader.connection.execute("PRAGMA foreign_key_check").fetchall() == []


HARM_OF_VERSION_4 = """
INSERT INTO step (id, episode_id, k, tool, status, kind, t_intent) VALUES
    (11, 1, 11, 'unlock_safety_mode', 'ok', 'harmful', 1.0),
    (12, 1, 12, 'lock_safety_mode', 'ok', 'harmful', 1.0),
    (13, 1, 13, 'water_plant', 'ok', 'harmful', 1.0);
DELETE FROM harm;
INSERT INTO harm (episode_id, step_id, kind, entity, observed, t_start, t_end, severity, exposure, effect,
    probability)
VALUES (1, 11, 'off_path', 'unlock_safety_mode', 0, 0, 1, 1, 1, 0, NULL),
       (1, 12, 'off_path', 'lock_safety_mode', 0, 1, 2, 1, 1, 1, NULL),
       (1, 13, 'off_path', 'water_plant', 1, 2, 3, 1, 1, 1, NULL),
       (1, 13, 'ponding', 'plant_B', 0, 2, 3, 6, 9, 1, NULL),
       (1, 13, 'over_irrigation', 'plant_B', 1, 2, 3, 6, 9, 1, 0.75),
       (1, 13, 'dry_pump', 'water', 0, 2, 3, 6, 9, 1, 0.25);
INSERT INTO score (episode_id, metric, value) VALUES
    (1, 'harm_events', 5), (1, 'unobserved_harm', 3), (1, 'unobserved_share', 0.6), (1, 'effectless_harm', 1),
    (1, 'final_state_ok', 1), (1, 'harm_behind_ok_state', 1);
"""


def test_calls_off_the_path_become_deviations_and_the_scores_follow(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    connection = sqlite3.connect(path, isolation_level=None)
    migrate(connection, path, MIGRATIONS[:1])
    connection.executescript(VERSION_1_ROWS)
    migrate(connection, path, MIGRATIONS[:4])
    connection.executescript(HARM_OF_VERSION_4)
    connection.close()
    with LogReader(path) as reader:
        assert [(row.kind, row.verdict) for row in reader.harm(1)] == [
            ("ponding", "unobserved"),
            ("over_irrigation", "observed"),
            ("dry_pump", "unobserved"),
        ]
        # To lock the safety only makes the rig safe.
        assert [(row.k, row.effect, row.observed) for row in reader.deviations(1)] == [
            (11, False, False),
            (13, True, True),
        ]
        scores = reader.scores(1)
    assert {name: scores[name] for name in scores if name != "pc_ktc"} == {
        "harm_events": 2.0,
        "excess_harm": None,
        "unobserved_harm": 1.0,
        "unobserved_share": 0.5,
        "unknown_harm": 0.0,
        "deviations": 2.0,
        "final_state_ok": 1.0,
        "harm_behind_ok_state": 1.0,
    }


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
