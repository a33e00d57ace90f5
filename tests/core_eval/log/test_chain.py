"""A log tells whether it is what its runs wrote: each changed column is found and named."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from episode_start import START

from configs.programs import user_file
from core_eval.cli.main import main
from core_eval.log import EpisodeLog, HarmRow, Intent, MachineCost, PromptRow, RunLog, StepRow, Turn, Verdict
from core_eval.log.chain import KINDS
from core_eval.log.liveness import ProcessIdentity
from core_eval.log.signing import KEY_FILE, own_key
from core_eval.log.verified import Evidence, Misfit, verify
from core_eval.log.whole_episode import WholeEpisode, add_episode
from devices.outcome import Outcome
from devices.sensors import Sample, Truth

TURN = Turn("go", 10, 5, 2, 0.1)
CHAINED = {column.partition(".")[0] for kind in KINDS.values() for column in kind.columns}
NOT_SIGNED = {"scoring", "score", "harm", "deviation", "compensating_pair", "failure", "blame", "message"}
"""Scorings are added at any time; only imported traces have messages."""


def step(episode: EpisodeLog, k: int, outcome: Outcome | None) -> None:
    question = episode.ask(f"water {k}", "harmful")
    episode.answer(question, "approve", "terminal")
    begun = episode.intent(Intent(k, "water", {"liters": k + 0.5}, f"c{k}", "allow", "said"), TURN)
    for n in range(3):
        episode.sample(Sample("tank", 10.0 - n, k + n / 10))
    episode.truth(Truth(k + 1.0, f"c{k}", {"tank": 10 - k, "soil": "x" * 40}, ()))
    episode.rig_status("device", "online", {"boot": "b1", "guard": {"state": "on", "calls": k}})
    if outcome is not None:
        verdict = Verdict("harmful", "A", "q0", "q1", "off_path")
        episode.result(begun, outcome, verdict)


def write(path: Path, *, ended: bool = True) -> None:
    with RunLog(path) as log:
        run = log.begin_run({"cells": []}, {"pathrig": "1"}, {"machine": "m"})
        for number in range(2):
            episode = log.begin_episode(run, replace(START, number=number))
            episode.started_on("rover", True, "block")
            episode.prompt(PromptRow([{"role": "user", "content": "go"}], [{"type": "function"}], "<go>"))
            episode.truth(Truth(0.0, None, {"tank": 10, "soil": "x" * 40}, ()))
            for k in range(3):
                error = None if k < 2 else "late"
                whole = ended or number == 0 or k < 2
                outcome = Outcome("ok", {"l": k}, error, error, t=k + 1.0, duration=0.5)
                step(episode, k, outcome if whole else None)
            if whole:
                episode.turn(3, TURN)
                episode.machine_cost(MachineCost(5, 1.5, "rapl", 0.5))
                episode.end("completed", "done", "odd", "confirmed", "all done")
                log.note(episode.id, "way home", {"calls": 2})
                log.write_scores(episode.id, {"path_correctness": 0.5}, [])
        if ended:
            log.end_run(run)


def change(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(sql)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("chain") / "log.db"
    write(path)
    return path.read_bytes()


def columns(connection: sqlite3.Connection) -> Iterator[tuple[str, str, str]]:
    for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"):
        if table not in NOT_SIGNED and not table.startswith("sqlite_"):
            for _, name, kind, *_ in connection.execute(f"PRAGMA table_info({table})"):
                yield table, name, kind


def other(value: object, kind: str, random: Random) -> object:
    if value is not None and random.random() < 0.2:
        return None
    if kind == "ANY":
        return random.choice([float(value), str(value), value + 1e-9, str(value).encode()])
    if kind == "INTEGER":
        return random.choice([0, 1, 2, int(value or 0) + random.choice([-1, 1, 1000])])
    if kind == "REAL":
        return random.choice([0.0, float(value or 0.0) + random.choice([-1e-6, 1e-9, 1.0])])
    data = bytearray(value.encode() if isinstance(value, str) else value or b"x")
    if data and random.random() < 0.8:
        data[random.randrange(len(data))] ^= 1 << random.randrange(7)
    else:
        data += b"0"
    return data.decode(errors="replace") if kind == "TEXT" else bytes(data)


def mutated(path: Path, table: str, column: str, kind: str, random: Random) -> bool:
    """Change one value of a column; return whether it can be changed."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("PRAGMA synchronous = OFF")
        keys = [row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[5]]
        rows = connection.execute(f"SELECT {column}, {', '.join(keys)} FROM {table}").fetchall()
        for _ in range(50):
            value, *key = random.choice(rows)
            new = other(value, kind, random)
            if new == value and type(new) is type(value):
                continue
            where = " AND ".join(f"{name} = ?" for name in keys)
            with suppress(sqlite3.IntegrityError):
                connection.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (new, *key))
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                return True
    return False


def is_named(misfit: Misfit | None, table: str, column: str) -> bool:
    if misfit is None:
        return False
    if table == "chain":
        return misfit.episode is not None
    if table == "signature":
        return misfit.where == "signature" or (column, misfit.where) == ("run_id", "run")
    if misfit.where == table and column in misfit.column.split(", "):
        return True
    if f"{table}.{column}" in misfit.column.split(", "):
        return True
    # A row of another number is no more where it was, whatever its columns say.
    numbers = {"id", "n", "k", "episode_id", "run_id", "step_id", "whole_id", "definition_id", "prompt_id"}
    return column in numbers and misfit.episode is not None


def check_mutants(path: Path, written: bytes, count: int, seed: int) -> None:
    random = Random(seed)
    path.write_bytes(written)
    with closing(sqlite3.connect(path)) as connection:
        places = list(columns(connection))
    wrong, made = [], 0
    for number in range(count):
        path.write_bytes(written)
        table, column, kind = places[number % len(places)]
        if mutated(path, table, column, kind, random):
            made += 1
            misfit = verify(path).misfit
            if not is_named(misfit, table, column):
                wrong.append((table, column, str(misfit)))
    assert wrong == []
    assert made > 0.9 * count


def test_each_changed_column_is_found_and_named(tmp_path: Path, written: bytes) -> None:
    check_mutants(tmp_path / "log.db", written, 150, seed=1)


@pytest.mark.nightly
def test_two_thousand_changed_logs_are_found_and_named(tmp_path: Path, written: bytes) -> None:
    check_mutants(tmp_path / "log.db", written, 2000, seed=2)


def test_every_column_that_a_run_writes_is_in_a_record(tmp_path: Path, written: bytes) -> None:
    path = tmp_path / "log.db"
    path.write_bytes(written)
    covered = {column for kind in KINDS.values() for column in kind.columns} | {"run.ended"}
    for kind in KINDS.values():
        covered |= set(re.findall(r"(\w+\.\w+)\s(?:=|BETWEEN)", kind.where))
    with closing(sqlite3.connect(path)) as connection:
        there = {f"{table}.{name}" for table, name, _ in columns(connection)}
    assert {one for one in there if not one.startswith(("chain.", "signature."))} == covered


NO_RECORD = "the row is in no record"
CHANGES = {
    "DELETE FROM step WHERE id = 2": "episode 1, step 1, record {n}: table step: the row is missing",
    "DELETE FROM sample WHERE episode_id = 2 AND n = 4": (
        "episode 2, step 1, record {n}: table sample: 2 rows are there, and 3 were recorded"
    ),
    "DELETE FROM chain WHERE episode_id = 2 AND id % 16777216 > 7": f"episode 2: table turn: {NO_RECORD}",
    "DELETE FROM chain WHERE episode_id = 2 AND covers LIKE 'statuses%'": (
        f"episode 2: table rig_status: {NO_RECORD}"
    ),
    "DELETE FROM episode WHERE id = 2": "episode 2: table episode: the row is missing",
    "DELETE FROM chain": f"run 1, episode 1: table episode: {NO_RECORD}",
    "INSERT INTO step (episode_id, k, t_intent) VALUES (1, 3, 0.0)": f"episode 1: table step: {NO_RECORD}",
    "INSERT INTO rig_status (episode_id, t, source, state) VALUES (1, 0.0, 'host', 'stop confirmed')": (
        f"episode 1: table rig_status: {NO_RECORD}"
    ),
    "UPDATE step SET result = '{}' WHERE id = 5": (
        "episode 2, step 1, record {n}: table step, column result: is not what was recorded"
    ),
    "UPDATE run SET ended = ended - 1": "run 1: table run, column ended: is not what was recorded",
    "UPDATE signature SET public_key = zeroblob(32)": (
        "run 1: table signature, column public_key or signature: does not fit"
    ),
}


@pytest.mark.parametrize("sql", CHANGES)
def test_a_changed_row_is_named(
    tmp_path: Path, written: bytes, sql: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.db"
    path.write_bytes(written)
    change(path, sql)
    assert main(["verify", str(path)]) == 1
    said = capsys.readouterr().out.splitlines()[-1]
    misfit = verify(path).misfit
    assert misfit is not None
    assert said.startswith(f"DOES NOT FIT: {CHANGES[sql].replace('{n}', str(misfit.record))}"), said


def test_a_log_says_which_key_signed_it(
    tmp_path: Path, written: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.db"
    path.write_bytes(written)
    key = own_key()
    assert key is not None
    assert user_file(KEY_FILE).stat().st_mode & 0o777 == 0o600
    assert main(["log", "verify", str(path), "--key", key]) == 0
    said = capsys.readouterr().out
    assert f"signed by key {key}, which is this user's" in said.replace("\n", " ")
    assert main(["verify", str(path), "--key", "0" * 32]) == 1
    assert main(["verify", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out.partition("\n")[2])["runs"][0]["key"] == key


def test_a_scoring_does_not_change_what_was_signed(tmp_path: Path, written: bytes) -> None:
    path = tmp_path / "log.db"
    path.write_bytes(written)
    with RunLog(path) as log:
        log.write_scores(
            1, {"path_correctness": 0.7}, [HarmRow("over", "A", False, 1.0, 2.0, 0.5, 0.2, None)]
        )
    assert verify(path).holds()


def standing(path: Path) -> Evidence:
    evidence = verify(path)
    assert evidence.misfit is None
    assert not evidence.holds()
    return evidence


def test_an_interrupted_run_says_to_which_step_its_chain_holds(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    write(path, ended=False)
    (run,) = standing(path).runs
    assert run.standing == "interrupted: its chain holds to episode 2, step 2"
    change(path, "UPDATE step SET status = 'ok', t_result = t_intent + 1 WHERE episode_id = 2 AND k = 2")
    assert "step 2: table step, column status: is set, and no record has it" in str(verify(path).misfit)


def test_an_episode_whose_process_died_ends_its_chain_when_the_log_is_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.db"
    dead = ProcessIdentity(1, "0", "a boot of before")
    with monkeypatch.context() as patched:
        patched.setattr(ProcessIdentity, "of", lambda _pid: dead)
        write(path, ended=False)
    with RunLog(path) as log:
        assert log.aborted == [2]
    (run,) = standing(path).runs
    assert run.standing == "interrupted: its chain holds to episode 2, step 2"
    change(path, "UPDATE episode SET status = 'completed' WHERE id = 2")
    assert "episode 2, step 2, record 12: table episode, column status" in str(verify(path).misfit)


def test_what_was_imported_or_written_before_is_told_apart(tmp_path: Path, written: bytes) -> None:
    path = tmp_path / "log.db"
    with RunLog(path) as log:
        run = log.begin_run({"imported": {}}, {}, {})
        start = replace(START, imported={"file": "a.jsonl"})
        row = StepRow(id=0, k=0, tool="go", arguments={}, status="ok", t_intent=1.0)
        add_episode(log, run, WholeEpisode(start, 1.0, "completed", [row], {0: TURN}))
        log.end_run(run)
        log.begin_run({}, {}, {})
    assert [run.standing for run in standing(path).runs] == ["imported, not signed", "not chained"]


def test_a_run_without_a_key_is_chained_and_not_signed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "settings").write_text("no folder")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    write(tmp_path / "log.db")
    assert "run 1 is chained, not signed: " in capsys.readouterr().err
    assert [run.standing for run in standing(tmp_path / "log.db").runs] == ["chained, not signed"]


def test_a_run_that_was_resumed_is_signed_again_unless_what_was_signed_has_changed(
    tmp_path: Path, written: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.db"
    path.write_bytes(written)

    def resumed() -> Evidence:
        with RunLog(path) as log:
            episode = log.begin_episode(1, replace(START, number=2))
            episode.end("completed", "done")
            log.end_run(1)
        return verify(path)

    assert resumed().holds() and verify(path).runs[0].episodes == 3
    change(
        path,
        "UPDATE chain SET hash = x'00112233445566778899aabbccddeeff' WHERE id ="
        " (SELECT max(id) FROM chain WHERE episode_id = 1)",
    )
    evidence = resumed()
    assert "run 1: what was signed has changed since" in capsys.readouterr().err
    assert evidence.misfit is not None and not evidence.holds()
