"""Measured soil moisture: the formats are read as described, and the filter sees words and rain alone.

The files are written here by the networks' published descriptions; none of their data is in the project.
"""

from __future__ import annotations

import sys
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from benchmarks.real_data.ismn import read_ismn
from benchmarks.real_data.plain_csv import read_csv
from benchmarks.real_data.soil_filter import Threshold, predict
from benchmarks.real_data.station import DataError, Station
from benchmarks.real_data.uscrn import read_uscrn
from benchmarks.real_soil import judge, main
from devices.farm_rover.world import Plant, Soil
from sims.farm_rover.soil import SoilColumn

DAY = 86400.0
THRESHOLD = Threshold(0.22, 0.03)
HEADER = "NET NET Hill 41.24100 -5.54300 855.00 {top:.2f} {bottom:.2f} Probe-A"


def hourly(day: str, hour: str, rain: str, moisture: list[str], temperature: list[str]) -> str:
    before = f"94996 {day} {hour} {day} 0000 2.622 -96.85 40.70 20.1 20.0 20.9 19.2"
    sun = "0 0 0 0 0 0 C 19.0 0 19.9 0 18.1 0 71 0"
    return " ".join([before, rain, sun, *moisture, *temperature])


def daily(day: str, rain: str, moisture: str) -> str:
    before = f"94996 {day} 2.622 -96.85 40.70 25.0 15.0 20.0 20.1"
    return f"{before} {rain} 20.1 C 30.0 14.0 21.0 90.0 30.0 60.0" + f" {moisture}" * 5 + " 18.0" * 5


def stm(folder: Path, variable: str, depth: float, lines: list[str], header: bool = True) -> Path:
    path = folder / f"NET_NET_Hill_{variable}_{depth:.6f}_{depth:.6f}_Probe-A_20200501_20200502.stm"
    top = [HEADER.format(top=depth, bottom=depth)] if header else []
    path.write_text("\n".join([*top, *lines]) + "\n", encoding="utf-8")
    return path


def ceop(record: str, depth: float) -> str:
    date, value = record[:16], record[16:]
    return f"{date} {date} NET NET Hill 41.24100 -5.54300 855.00 {depth:.2f} {depth:.2f}{value}"


def test_an_hourly_uscrn_file_has_rain_and_soil_by_depth(tmp_path: Path) -> None:
    path = tmp_path / "CRNH0203-2020-NE_Lincoln_11_SW.txt"
    path.write_text(
        hourly("20200501", "0100", "1.4", ["0.201", "0.221", "0.3", "0.31", "0.32"], ["14.0"] * 5)
        + "\n"
        + hourly("20200501", "0200", "-9999.0", ["0.202", "-99.000", "0.3", "0.31", "0.32"], ["-0.1"] * 5)
        + "\n"
    )
    station = read_uscrn(path)
    assert station.name == "NE_Lincoln_11_SW"
    assert station.times == (datetime(2020, 5, 1, 1), datetime(2020, 5, 1, 2))
    np.testing.assert_array_equal(station.rain, [1.4, np.nan])
    np.testing.assert_array_equal(station.moisture[0.10], [0.221, np.nan])
    np.testing.assert_array_equal(station.moisture[1.00], [0.32, 0.32])
    assert station.temperature[0.05].tolist() == [14.0, -0.1]
    np.testing.assert_allclose(station.root_zone(0.15), [0.211, np.nan])
    np.testing.assert_array_equal(station.root_zone(0.05), [0.201, np.nan], "frozen: not liquid water")
    with pytest.raises(
        DataError, match=r"Lincoln_11_SW: no moisture probe down to 0\.02 m; there are 0\.05,"
    ):
        station.root_zone(0.02)


def test_a_daily_uscrn_file_ends_each_day_at_midnight(tmp_path: Path) -> None:
    path = tmp_path / "CRND0103-2020-X.txt"
    path.write_text(daily("20200501", "12.5", "0.250") + "\n" + daily("20200502", "0.0", "0.240") + "\n")
    station = read_uscrn(path)
    assert station.times == (datetime(2020, 5, 2), datetime(2020, 5, 3))
    assert station.rain.tolist() == [12.5, 0.0]
    assert station.root_zone(0.15).tolist() == [0.25, 0.24]
    path.write_text(daily("20200501", "12.5", "0.250") + "\n94996 20200502\n")
    with pytest.raises(DataError, match=r"CRND0103-2020-X\.txt:2: 2 columns"):
        read_uscrn(path)


def test_both_ismn_formats_say_the_same_and_flags_are_honoured(tmp_path: Path) -> None:
    moisture = [
        "2020/05/01 00:00 0.2310 G M",
        "2020/05/01 01:00 0.9000 C03,D04 M",
        "2020/05/01 02:00 0.2290 G",
    ]
    rain = ["2020/05/01 00:00 0.0 G", "2020/05/01 01:00 3.5 G"]
    files = [stm(tmp_path, "sm", 0.05, moisture), stm(tmp_path, "p", -2.0, rain)]
    station = read_ismn(files)
    assert station.name == "NET/Hill"
    np.testing.assert_array_equal(station.moisture[0.05], [0.231, np.nan, 0.229])
    np.testing.assert_array_equal(station.rain, [0.0, 3.5, np.nan])
    assert station.times[2] == datetime(2020, 5, 1, 2)
    lines = [ceop(line, 0.05) for line in moisture], [ceop(line, -2.0) for line in rain]
    again = read_ismn(
        [stm(tmp_path, "sm", 0.05, lines[0], header=False), stm(tmp_path, "p", -2.0, lines[1], header=False)]
    )
    assert (again.name, again.times) == (station.name, station.times)
    np.testing.assert_array_equal(again.moisture[0.05], station.moisture[0.05])
    np.testing.assert_array_equal(again.rain, station.rain)
    accepted = read_ismn(files, {"G", "C03", "D04"})
    assert accepted.moisture[0.05].tolist() == [0.231, 0.9, 0.229]


def test_what_an_ismn_file_lacks_is_said(tmp_path: Path) -> None:
    rain = stm(tmp_path, "p", -2.0, ["2020/05/01 00:00 0.0 G"])
    percent = stm(tmp_path, "sm", 0.05, ["2020/05/01 00:00 23.10 G"])
    with pytest.raises(DataError, match=r"_sm_.*moisture up to 23\.1: in percent"):
        read_ismn([percent, rain])
    flagged = stm(tmp_path, "sm", 0.05, ["2020/05/01 00:00 0.231 U"])
    with pytest.raises(DataError, match=r"accepted flag \(--accept\); flags: U"):
        read_ismn([flagged, rain])
    with pytest.raises(DataError, match="needs files of soil moisture"):
        read_ismn([rain])
    broken = stm(tmp_path, "sm", 0.05, ["2020/13/01 00:00 0.231 G"])
    with pytest.raises(DataError, match=r"stm:2: "):
        read_ismn([broken, rain])


def test_plain_csv(tmp_path: Path) -> None:
    path = tmp_path / "field.csv"
    path.write_text(
        "time,rain_mm,moisture_0.05,temperature_0.05\n2020-05-01T01:00,0.2,0.21,12\n2020-05-01T02:00,,,\n"
    )
    station = read_csv(path)
    np.testing.assert_array_equal(station.root_zone(0.1), [0.21, np.nan])
    np.testing.assert_array_equal(station.rain, [0.2, np.nan])
    path.write_text("time,rain_mm,humidity\n")
    with pytest.raises(DataError, match=r"field\.csv: column 'humidity'"):
        read_csv(path)


def test_the_word_has_the_hysteresis_of_the_rovers_sensor() -> None:
    moisture = np.array([0.20, 0.23, 0.20, np.nan, 0.18, 0.20])
    assert THRESHOLD.words(moisture) == [False, True, True, None, False, False]


def played(days: int, seed: int) -> Station:
    """Return what perfect probes measure in a column of known soil under drawn rain."""
    rng = np.random.default_rng(seed)
    soil = Soil.model_validate(
        {
            "texture": "loam",
            "area": 1.0,
            "root_depth": 0.15,
            "rim_mm": 5.0,
            "depletion_fraction": 0.5,
            "evapotranspiration": 4.0,
            "pond_limit_mm": 5.0,
            "leaching_limit_liters": 0.0,
            "runoff_limit_liters": 0.0,
        }
    )
    column = SoilColumn.under(Plant(x=0.0, y=0.0, moisture=0.3), soil)
    rain = np.where(rng.random(days) < 0.25, rng.exponential(12.0, days), 0.0)
    moisture = []
    for fallen in rain.tolist():
        column.advance(DAY, fallen / DAY)
        moisture.append(column.moisture)
    times = tuple(datetime(2020, 5, 1) + timedelta(days=day + 1) for day in range(days))
    return Station("played", times, rain, {0.1: np.array(moisture)}, {})


def test_in_a_soil_of_the_columns_own_law_the_words_help_and_the_intervals_hold() -> None:
    judged = judge(played(90, seed=3), THRESHOLD, 0.15, ["loam"], particles=100, seed=1)
    assert judged.changes >= 3 and judged.readings == 90
    scores = judged.scores
    assert scores["both"].squared < 0.8 * min(scores["rain"].squared, scores["word"].squared)
    assert scores["both"].covered90 > 0.85
    assert scores["both"].width90 < scores["word"].width90


def test_the_filter_is_never_shown_the_moisture() -> None:
    station = played(30, seed=3)
    words = THRESHOLD.words(station.moisture[0.1])
    other = Station("other", station.times, station.rain, {0.1: np.where(words, 0.4, 0.05)}, {})
    assert THRESHOLD.words(other.moisture[0.1]) == words

    def bias(of: Station) -> float:
        found = judge(of, THRESHOLD, 0.15, ["loam"], particles=40, seed=1).scores["both"].bias
        return found + float(np.mean(of.moisture[0.1]))

    assert bias(station) == pytest.approx(bias(other), abs=1e-12)


def test_the_same_seed_gives_the_same_prediction() -> None:
    rain, seconds = np.array([5.0, np.nan, 0.0]), [DAY] * 3

    def run(seed: int) -> list[float]:
        return (
            predict(
                rain, seconds, [True, None, False], THRESHOLD,
                depth=0.15, textures=["sand", "clay"], particles=30, seed=seed,
            )
            .mean()
            .tolist()
        )  # fmt: skip

    assert run(1) == run(1) != run(2)


def test_the_table_fits_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "CRND0103-2020-A_very_long_station_name.txt"
    path.write_text("\n".join(daily(f"202005{day:02}", "3.0", f"0.{170 + 5 * day}") for day in range(1, 21)))
    asked = ["real_soil.py", str(path), str(path), "--particles", "10"]
    monkeypatch.setattr(sys, "argv", asked)
    assert main() == 0
    shown = capsys.readouterr().out.splitlines()
    assert max(map(len, shown)) <= 80
    assert any(line.startswith("all ") and " 40 " in line for line in shown)
    monkeypatch.setattr(sys, "argv", [*asked, "--from", "2021-01-01"])
    assert main() == 2
    assert "no valid moisture in the chosen time" in capsys.readouterr().err
