"""The command: what it writes where, and what it refuses in one line."""

from __future__ import annotations

import json
import sqlite3
import sys
from dataclasses import asdict
from pathlib import Path
from typing import get_args

import pytest
from exported_log import empty_log, export, exported_log

from core_eval.cli.log import FormatName
from core_eval.cli.main import main
from core_eval.export import FORMATS
from core_eval.log import LogReader
from core_eval.log.row_map import named

NAMES = [form.name for form in FORMATS if form.name not in ("rrd", "lerobot")]
"""Rerun gives its recordings random ids, and LeRobot takes one device: they have tests of their own."""


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return exported_log(tmp_path / "log.db")


def content(path: Path) -> dict[str, bytes]:
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return {file.name: file.read_bytes() for file in files}


def test_the_option_takes_the_formats_of_the_table() -> None:
    assert list(get_args(FormatName)) == [form.name for form in FORMATS]


@pytest.mark.parametrize("form", NAMES)
def test_an_export_can_be_repeated(db: Path, tmp_path: Path, form: str) -> None:
    first = content(export(db, form, tmp_path / "out"))
    assert first
    assert content(export(db, form, tmp_path / "out")) == first
    assert sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith("log.db")) == ["out"]


@pytest.mark.parametrize("form", NAMES)
def test_an_empty_log_is_exported(tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    export(empty_log(tmp_path / "empty.db"), form, tmp_path / "out")
    assert "holds 0 episodes" in capsys.readouterr().out


def test_json_lines_have_all_of_an_episode(db: Path, tmp_path: Path) -> None:
    lines = export(db, "jsonl", tmp_path / "out.jsonl").read_text(encoding="utf-8").split("\n")
    read = [json.loads(line) for line in lines if line]
    with LogReader(db) as log:
        for line, episode in zip(read, log.episodes(), strict=True):
            assert line["run"] == asdict(log.run(episode.run_id))
            assert line["episode"] == json.loads(json.dumps(asdict(episode)))
            assert line["harm"] == [asdict(row) for row in log.harm(episode.id)]
            for name in ("steps", "samples", "deviations", "truth"):
                assert line[name] == [named(row) for row in getattr(log, name)(episode.id)]
            assert line["machine_cost"] == asdict(log.machine_cost(episode.id))
    assert read[0]["last_turn"]["text"] == "I am done."
    assert read[1]["steps"][0]["t_result"] is None


def test_one_run(db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = export(db, "jsonl", tmp_path / "out.jsonl", "--run", "2")
    assert [json.loads(line)["episode"]["id"] for line in out.read_text().splitlines()] == [3]
    assert main(["log", "export", str(db), "-o", str(out), "--format", "jsonl", "--run", "9"]) == 2
    assert "there is no run 9" in capsys.readouterr().err


def test_what_cannot_be_written_is_one_line(
    db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("kept")
    (tmp_path / "folder").mkdir()
    before = db.read_bytes()
    refused = [
        ("xml", tmp_path / "out", "'xml' is not one of"),
        ("csv", tmp_path / "file", "writes a folder"),
        ("jsonl", tmp_path / "folder", "is a folder"),
        ("jsonl", db, "is the log itself"),
        ("otel", tmp_path / "none" / "out", "there is no folder"),
    ]
    for form, path, words in refused:
        assert main(["log", "export", str(db), "-o", str(path), "--format", form]) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert words in line
    assert (tmp_path / "file").read_text() == "kept"
    assert db.read_bytes() == before


@pytest.mark.parametrize(("form", "column"), [("mcap", "t_device"), ("otel", "t_result")])
def test_a_time_that_no_format_holds_is_one_line(
    db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str, column: str
) -> None:
    with sqlite3.connect(db) as connection:
        connection.execute(f"UPDATE step SET {column} = 2e11 WHERE t_result IS NOT NULL")
    assert main(["log", "export", str(db), "-o", str(tmp_path / "out"), "--format", form]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "beyond what the format holds" in line
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("form", "module"), [("parquet", "pyarrow"), ("mcap", "mcap.writer")])
def test_a_missing_library_is_named(
    db: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    form: str,
    module: str,
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert main(["log", "export", str(db), "-o", str(tmp_path / "out"), "--format", form]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "pip install 'pathrig[export]'" in line
    assert not (tmp_path / "out").exists()
