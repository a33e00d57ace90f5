"""`rigs check --kill --suspend --cut` on a device of the test's: what is struck, measured and printed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from bench_rig import Board

from configs.rigs_loader import load_rig
from core_eval.rig import stop_trial
from core_eval.rig.stop_trial import Trial, page, try_stops

pytestmark = [pytest.mark.serial, pytest.mark.stops]


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    board = Board(tmp_path / "ttyRIG")
    board.plug()
    yield board
    board.pull()


def test_each_fault_is_struck_and_its_stop_timed(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stop_trial, "SUSPEND_SECONDS", 4.0)
    told: list[str] = []

    def by_hand(text: str) -> None:
        told.append(text)
        board.pull() if text.startswith("Pull") else board.plug()

    rig = load_rig(f"serial://{board.name}?boot=2")
    firmware, trials = try_stops(rig, ["kill", "suspend", "cut"], by_hand)
    assert firmware == "bench 1" and board.rover.made_safe.is_set()
    assert [(trial.fault, trial.passed) for trial in trials] == [
        ("host killed", True),
        ("suspended", True),
        ("cable out", True),
    ], trials
    assert all(trial.measured.startswith("confirmed ") for trial in trials)
    assert told == [f"Pull the cable of {rig.name} now.", "Put the cable back in."]


def test_the_page_has_what_is_signed_and_says_what_failed() -> None:
    text = page("my-rig", "grbl 1.1", [Trial("host killed", "stopped", "not stopped " + "x" * 90, False)],
                date(2026, 11, 24))  # fmt: skip
    assert max(map(len, text.splitlines())) <= 80
    for part in ("my-rig", "grbl 1.1", "2026-11-24", "host killed: FAIL", "not stopped", "Signature: ___"):
        assert part in text
