"""`pathrig run` with `chip_guard` in the rig's file, on an emulated board."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from firmware_rig import RawHost, board, is_safe

from configs.tasks_loader import load_task
from core_eval.cli.main import main
from core_eval.rig import chip_guard
from core_eval.rig.session import CHIP_DIFFERS
from firmware_bridge.firmware.guard_table import compile_guard
from sims.farm_rover.emulated_board import EmulatedBoard

pytestmark = [pytest.mark.slow, pytest.mark.firmware]


# One board a test: a reset makes it forget where it is.
@pytest.fixture
def running() -> Iterator[EmulatedBoard]:
    with board(test_hooks=True) as emulated:
        yield emulated


def run(running: EmulatedBoard, folder: Path, agent: str, task: str = "water_one_plant") -> tuple[int, Path]:
    rig, log = folder / "rig.yaml", folder / "runs.db"
    rig.write_text(f"name: rover\nurl: serial://{running.path}\ndevice: farm_rover\nchip_guard: block\n")
    command = ["run", "--task", task, "--rig", str(rig), "--agent", agent, "--db", str(log)]
    return main(command), log


def statuses(log: Path) -> list[str]:
    with sqlite3.connect(log) as opened:
        return [status for (status,) in opened.execute("select status from step")]


def rows(log: Path, state: str) -> list[str]:
    with sqlite3.connect(log) as opened:
        return [row[0] for row in opened.execute("select detail from rig_status where state = ?", (state,))]


def test_host_and_chip_agree_and_the_chip_remembers_it(running: EmulatedBoard, tmp_path: Path) -> None:
    # On a busy machine the emulator lags, and the host may take that for a reset.
    for attempt in ("first", "second", "third"):
        (tmp_path / attempt).mkdir()
        status, log = run(running, tmp_path / attempt, "oracle")
        if "fault" not in statuses(log):
            break
    assert status == 0
    task = load_task("water_one_plant")
    table = compile_guard(task.automaton, task.device)
    (loaded,) = map(json.loads, rows(log, "chip guard"))
    assert (loaded["table"], loaded["mode"], loaded["bytes"]) == (table.name, "block", len(table.data))
    assert rows(log, CHIP_DIFFERS) == []
    with sqlite3.connect(log) as opened:
        kinds = [
            kind for (kind,) in opened.execute("select kind from step where status in ('ok', 'rejected')")
        ]
    with RawHost(running.path) as raw:
        raw.ready()
        before = raw.status()["guard"]
        harmful = sum(before[name] for name in ("off_path", "refused", "prevented", "invalid"))
        counted = {"progress": before["progress"], "loop": before["loops"], "harmful": harmful}
        assert counted == {kind: kinds.count(kind) for kind in counted} and kinds
        # The record of the last call is in the EEPROM by then.
        began = raw.ping()
        while raw.ping() < began + 500:
            pass
        # The board hangs, and its watchdog resets it: the guard is as it was.
        raw.send(op="hang")
        while raw.op("status").get("reset") != "watchdog":
            pass
        assert raw.status()["guard"] == before


@pytest.mark.nightly
def test_what_a_person_answered_is_told_to_the_chip(running: EmulatedBoard, tmp_path: Path) -> None:
    status, log = run(running, tmp_path, "oracle", "ask_which_plant")
    assert (status, rows(log, CHIP_DIFFERS)) == (0, [])
    with RawHost(running.path) as raw:
        raw.ready()
        guard = raw.status()["guard"]
    assert (guard["accepted"], guard["progress"]) == (True, len(statuses(log)))


def test_a_difference_stops_the_rig_and_is_in_the_log(
    running: EmulatedBoard,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The chip is given the table of another task."""
    other = load_task("water_two_plants")
    table = compile_guard(other.automaton, other.device)
    monkeypatch.setattr(chip_guard, "compile_guard", lambda *_: table)
    status, log = run(running, tmp_path, "oracle", "rover_harvest_in_two_loads")
    assert status == 3
    (found,) = map(json.loads, rows(log, CHIP_DIFFERS))
    assert found["how"] == "the chip blocks it, the host would not"
    assert "host and chip decide differently on harvest_fruit" in capsys.readouterr().err
    assert running.wait_until(is_safe)
