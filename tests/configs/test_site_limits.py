"""When and where a rig may be driven: each limit from both sides, and through a run."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from configs.errors import ConfigError
from configs.rigs_loader import load_rig
from configs.site_limits import Daylight, OperatingLimits, sun_elevation
from core_eval.cli.main import main
from core_eval.log import LogReader
from core_eval.path.calls import Call
from devices.sensors import Sample

NOON = datetime(2026, 6, 21, 12, 0, tzinfo=UTC)


def refused(
    limits: dict[str, object], at: datetime = NOON, wind: float | None = None, **arguments: float
) -> str:
    samples = {} if wind is None else {"wind_speed": Sample("wind_speed", wind, 0.0)}
    found = OperatingLimits.model_validate(limits).refusal(Call("move_to", arguments), at, samples)
    return found or ""


@pytest.mark.parametrize(
    ("hours", "clock", "inside"),
    [
        ("08:00-18:00", "08:00", True),
        ("08:00-18:00", "07:59", False),
        ("08:00-18:00", "17:59", True),
        ("08:00-18:00", "18:00", False),
        ("20:00-06:00", "23:00", True),
        ("20:00-06:00", "05:59", True),
        ("20:00-06:00", "06:00", False),
    ],
)
def test_hours(hours: str, clock: str, inside: bool) -> None:
    at = datetime.fromisoformat(f"2026-06-21T{clock}:00+00:00")
    assert (refused({"hours": hours}, at) == "") is inside


def test_wind_is_refused_above_its_limit_and_without_a_reading() -> None:
    limits: dict[str, object] = {"wind": {"sensor": "wind_speed", "max": 8.0}}
    assert refused(limits, wind=8.0) == ""
    assert refused(limits, wind=8.1) == "wind_speed is 8.1, and the site allows 8"
    assert refused(limits) == "there is no reading of wind_speed, and the site allows 8"
    assert refused(limits, wind=float("nan")) != ""


def test_a_geofence_of_any_shape() -> None:
    corner: dict[str, object] = {"geofence": [[0, 0], [10, 0], [10, 4], [4, 4], [4, 10], [0, 10]]}
    inside, outside = [(1, 1), (9, 3), (3, 9)], [(6, 6), (11, 1), (-1, 5)]
    assert not any(refused(corner, x=x, y=y) for x, y in inside)
    assert all(refused(corner, x=x, y=y) for x, y in outside)
    assert refused(corner) == "", "a call without a place"


def test_the_sun_is_where_an_almanac_has_it() -> None:
    # Greenwich: 61.96 degrees at noon of the June solstice, and 15.1 in December.
    greenwich = Daylight(latitude=51.48, longitude=0.0)
    for at, degrees in ((NOON, 61.96), (datetime(2026, 12, 21, 12, tzinfo=UTC), 15.1)):
        assert abs(sun_elevation(at, greenwich) * 57.29578 - degrees) < 0.5
    place: dict[str, object] = {"daylight": {"latitude": 51.48, "longitude": 0.0}}
    # Sunrise there was at 03:43 UTC, sunset at 20:21.
    assert refused(place, NOON.replace(hour=3, minute=20)) and refused(
        place, NOON.replace(hour=20, minute=45)
    )
    assert not refused(place, NOON.replace(hour=4, minute=5)) and not refused(place, NOON.replace(hour=20))


@pytest.mark.parametrize(
    "limits", ["{hours: 25:00-26:00}", "{hours: soon}", "{geofence: [[0, 0]]}", "{rain: 1}"]
)
def test_a_limit_that_does_not_fit_is_named(tmp_path: Path, limits: str) -> None:
    (tmp_path / "rig.yaml").write_text(f"name: a\nurl: serial:///dev/ttyA\nsite: {limits}\n")
    with pytest.raises(ConfigError):
        load_rig(str(tmp_path / "rig.yaml"))


def test_a_call_outside_is_refused_before_it_moves_and_reading_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fence = "[[0, 0], [5, 0], [5, 5], [0, 5]]"
    Path("rig.yaml").write_text(
        f"name: a\nurl: sim:farm_rover\nworld: farm_rover\nsite: {{geofence: {fence}}}\n"
    )
    calls = [
        ("unlock_safety_mode", {}),
        ("move_to", {"x": 9.0, "y": 1.0}),
        ("sense_pose", {}),
        ("lock_safety_mode", {}),
    ]
    lines = [json.dumps({"name": name, "arguments": arguments}) for name, arguments in calls]
    Path("calls.jsonl").write_text("\n".join(lines) + "\n")
    agent = ["--agent", "scripted:calls.jsonl"]
    assert main(["run", "--rig", "rig.yaml", "--task", "water_one_plant", "--db", "log.db", *agent]) == 0
    with LogReader(Path("log.db")) as reader:
        steps = reader.steps(1)
    assert [(step.status, step.error_code) for step in steps] == [
        ("ok", None),
        ("blocked", "site"),
        ("ok", None),
        ("ok", None),
    ]
