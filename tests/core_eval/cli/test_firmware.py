"""`pathrig firmware`: the table of a task for a chip."""

import json
import zlib
from pathlib import Path

import pytest

from configs.tasks_loader import load_task
from core_eval.cli.main import main
from firmware_bridge.firmware.guard_table import ChipMode, compile_guard


def test_a_table_is_written_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "water.guard"
    assert main(["firmware", "guard", "water_one_plant", "-o", str(path), "--mode", "observe", "--json"]) == 0
    told, data = json.loads(capsys.readouterr().out), path.read_bytes()
    task = load_task("water_one_plant")
    assert data == compile_guard(task.automaton, task.device, ChipMode.OBSERVE).data
    assert (told["bytes"], told["states"]) == (len(data), len(task.automaton.states))
    assert told["table"] == f"{zlib.crc32(data):08X}"


def test_as_c_it_holds_the_same_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "guard_table.h"
    assert main(["firmware", "guard", "arm_no_stack", "-o", str(path)]) == 0
    _, _, body = path.read_text().partition("{")
    task = load_task("arm_no_stack")
    data = compile_guard(task.automaton, task.device).data
    assert bytes(int(byte, 16) for byte in body.strip(" \n};").rstrip(",").split(",")) == data
    assert f"arm_no_stack: {len(data)} bytes for a chip of robotic_arm" in capsys.readouterr().out


def test_a_task_without_a_table_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "none"
    assert main(["firmware", "guard", "rover_somebody_weeds_there", "-o", str(path)]) == 2
    line = capsys.readouterr().err
    assert "rover_somebody_weeds_there: no table for a chip: scan_people tells" in line
    assert line.count("\n") == 1 and not path.exists()
