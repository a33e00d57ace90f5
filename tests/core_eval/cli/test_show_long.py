"""`pathrig show` of a long log: the worst ten and the outcome, unless all are asked for."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from core_eval.cli.main import main
from core_eval.log import LogReader, RunLog


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    db = tmp_path_factory.mktemp("long") / "long.db"
    run = ["run", "--task", "users_change_and_verify", "--rig", "sim:crud", "--agent", "mutated:0.9"]
    assert main([*run, "--episodes", "41", "--db", str(db)]) == 0
    return db


@pytest.fixture
def log(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return Path(shutil.copy(made, tmp_path))


def listed(said: str) -> list[int]:
    words = (line.split() for line in said.splitlines())
    return [int(line[0]) for line in words if len(line) > 2 and line[0].isdigit() and "users" in line[1]]


def test_the_worst_ten_of_many_are_listed(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "long.db", "--worst", "10"]) == 0
    worst = listed(capsys.readouterr().out)
    assert main(["show", "long.db"]) == 0
    said = capsys.readouterr().out
    assert listed(said) == worst and len(worst) == 10
    assert "the worst 10 of 41 episodes; --all lists every one, and tasks and worlds" in said
    assert len(said.splitlines()) < 60 and said.splitlines()[-1].endswith(".")
    assert "passed" in said.splitlines()[-1] or "passed" in said.splitlines()[-2]
    assert main(["show", "long.db", "--all"]) == 0
    assert sorted(listed(capsys.readouterr().out)) == list(range(1, 42))


def test_forty_are_listed_as_they_are(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with RunLog(log) as opened:
        opened.connection.execute("DELETE FROM episode WHERE id = 41")
    with LogReader(log) as reader:
        assert len(reader.episode_ids()) == 40
    assert main(["show", "long.db"]) == 0
    said = capsys.readouterr().out
    assert sorted(listed(said)) == list(range(1, 41)) and "--all" not in said
