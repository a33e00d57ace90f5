"""A cobot's recording: both kinds of CSV are read alike, and detection knows what coarse signals hide.

The files are written here, with the columns that UCI documents; none of its data is in the project.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.real_arm import main
from benchmarks.real_data.coarse_arm import sensor_sets
from benchmarks.real_data.cobot import LABELS, SIGNALS, Recording, read_cobot
from benchmarks.real_data.event_detection import judge, unobserved, windows
from benchmarks.real_data.station import DataError

STOP, GRIP = LABELS


def recording(bump: float, seed: int = 1, rows: int = 3000) -> Recording:
    """Return a recording of noise in which every 40th row has a stop, with `bump` A more in joint 2."""
    rng = np.random.default_rng(seed)
    signals = {name: rng.normal(0.0, 0.02, rows) for name in SIGNALS}
    stops = np.zeros(rows, bool)
    for row in range(30, rows - 10, 40):
        stops[row : row + 2] = True
        signals["Current_J2"][row : row + 2] += bump
    number = np.arange(rows)
    number[rows // 2 :] += 7
    return Recording(number, signals, {STOP: stops, GRIP: np.zeros(rows, bool)}, 0)


def write(path: Path, source: Recording, semicolons: bool, blank: int | None = None) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=";" if semicolons else ",")
        names = ["Num", *SIGNALS, "cycle ", *LABELS]
        writer.writerow([*names, *[""] * 3] if semicolons else names)
        for row in range(len(source.number)):
            values = [f"{source.signals[name][row]:.9g}" for name in SIGNALS]
            if row == blank:
                values[3] = ""
            cells = [value.replace(".", ",") for value in values] if semicolons else values
            marks = [str(bool(source.labels[name][row])) for name in LABELS]
            writer.writerow(
                [row + 1, *cells, 1, *(marks if semicolons else [mark.upper() for mark in marks])]
            )
    return path


def test_both_kinds_of_csv_are_read_alike(tmp_path: Path) -> None:
    source = recording(0.2, rows=60)
    commas = read_cobot(write(tmp_path / "a.csv", source, semicolons=True))
    points = read_cobot(write(tmp_path / "b.csv", source, semicolons=False))
    for name in SIGNALS:
        np.testing.assert_allclose(commas.signals[name], source.signals[name], rtol=1e-8)
        np.testing.assert_array_equal(points.signals[name], commas.signals[name])
    np.testing.assert_array_equal(points.labels[STOP], source.labels[STOP])
    assert points.number.tolist() == list(range(60)) and points.dropped == 0
    gap = read_cobot(write(tmp_path / "c.csv", source, semicolons=False, blank=4))
    assert gap.number.tolist() == [row for row in range(60) if row != 4] and gap.dropped == 1


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    path = tmp_path / "dataset.xlsx"
    path.write_bytes(b"PK\x03\x04and so on")
    with pytest.raises(DataError, match="save it as CSV"):
        read_cobot(path)
    path.write_text("Num,Current_J0\n1,2\n")
    with pytest.raises(DataError, match=r"no column Current_J1, .*grip_lost"):
        read_cobot(path)
    lines = write(path, recording(0.0, rows=3), semicolons=False).read_text().splitlines()
    path.write_text("\n".join([lines[0], lines[1].replace("FALSE", "maybe")]))
    with pytest.raises(DataError, match=r"dataset\.xlsx:2: .*'maybe'"):
        read_cobot(path)


def test_windows_have_no_gap_and_the_null_no_label() -> None:
    source = recording(0.2)
    found = windows(source, STOP)
    labelled = source.labels[STOP]
    for row in found.null.tolist():
        assert not labelled[row : row + 5].any() and source.number[row + 4] - source.number[row] == 4
    assert all(labelled[row + 1] and not labelled[row] for row in found.events.tolist())
    assert np.diff(found.null).min() >= 5
    with pytest.raises(DataError, match=r"grip_lost: 0 events"):
        windows(source, GRIP)


def test_a_bump_below_a_coarse_sensors_step_is_seen_by_the_fine_signals_alone() -> None:
    source = recording(0.2)
    chosen = windows(source, STOP)
    verdicts = {name: judge(columns, chosen) for name, columns in sensor_sets(source).items()}
    assert verdicts["fine"].detected > 0.95 and verdicts["fine"].area > 0.98
    for coarse in ("words", "words, joints"):
        assert verdicts[coarse].detected < 0.2
    missed = unobserved(verdicts, "fine")
    assert missed["fine"] == 0 and missed["words"] > 0.8 * len(chosen.events)


def test_without_a_bump_there_is_nothing_to_detect() -> None:
    source = recording(0.0)
    verdict = judge(sensor_sets(source)["fine"], windows(source, STOP))
    assert verdict.detected < 0.2 and 0.35 < verdict.area < 0.65


def test_a_bump_above_the_step_is_seen_by_the_coarse_sensor() -> None:
    source = recording(1.0)
    verdicts = judge(sensor_sets(source)["words, joints"], windows(source, STOP))
    assert verdicts.detected > 0.95


def test_the_table_fits_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = recording(0.2, rows=1200)
    source.labels[GRIP][:] = np.roll(source.labels[STOP], 3)
    path = write(tmp_path / "ur3.csv", source, semicolons=True)
    monkeypatch.setattr(sys, "argv", ["real_arm.py", str(path)])
    assert main() == 0
    shown = capsys.readouterr().out.splitlines()
    assert max(map(len, shown)) <= 80 and any(line.startswith("fine") for line in shown)
    monkeypatch.setattr(sys, "argv", ["real_arm.py", str(tmp_path / "none.csv")])
    assert main() == 2
    assert "none.csv" in capsys.readouterr().err
