"""Recordings for Rerun, read back by its own tool."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from exported_log import export, exported_log

pytestmark = pytest.mark.interop


def rerun(*arguments: str) -> str:
    """Run the tool that comes with Rerun's SDK."""
    command = [sys.executable, "-m", "rerun", "rrd", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def static(file: str, entity: str, component: str) -> list[str]:
    """Return the texts of an entity, by the SDK's own reader."""
    from rerun.chunk import RrdReader

    chunks = (one for one in RrdReader(file).stream().to_chunks() if one.entity_path == entity)
    return [text for one in chunks for cell in one.to_record_batch().to_pydict()[component] for text in cell]


def test_rerun_reads_map_signals_calls_and_harm(tmp_path: Path) -> None:
    pytest.importorskip("rerun")
    db = exported_log(tmp_path / "log.db")
    files = sorted(str(path) for path in export(db, "rrd", tmp_path / "out").iterdir())
    assert files
    rerun("verify", *files)
    text = rerun("print", "-vvv", *files)
    for entity in ("/task", "/calls", "/harm", "/map/plants/plant_A", "/map/obstacles/tree", "/samples/"):
        assert f"entity_path: {entity}" in text, entity
    assert "device_time" in text and "water_plant" in text
    # The tool cuts a long cell, and shows what it would not print as an escape.
    (task,) = static(files[0], "/task", "TextDocument:text")
    assert task.endswith("\n\nsuite core 1 ab12")
    assert not {"\x1b", "\u202e"} & set(text + task)


def test_the_same_log_gives_the_same_recording(tmp_path: Path) -> None:
    pytest.importorskip("rerun")
    db = exported_log(tmp_path / "log.db")
    one, two = (sorted(export(db, "rrd", tmp_path / name).iterdir()) for name in ("one", "two"))
    for first, second in zip(one, two, strict=True):
        rerun("compare", "--unordered", str(first), str(second))
