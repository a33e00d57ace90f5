from typing import Any

import pytest
from farm_rig import WORLD, Script, at, run

from devices.farm_rover.surroundings import Shower
from devices.harm import HarmEvent
from sims.farm_rover.rain import next_change, rain_rate, rained_on

DAY = 86400.0
SHOWERS = [Shower(at=10.0, seconds=20.0, mm=4.0), Shower(at=25.0, seconds=10.0, mm=1.0)]


def episode(liters: float, *rain: dict[str, float]) -> tuple[dict[str, Any], tuple[HarmEvent, ...]]:
    init = {"safety_locked": False, "pose": at("plant_A"), "rain": list(rain)}
    script: Script = [("sense_pose", {})]
    if liters:
        script.append(("water_plant", {"plant_id": "plant_A", "liters": liters}))
    simulator, _ = run(script, init)
    plant: dict[str, Any] = simulator.state_dict()["plants"]["plant_A"]
    simulator.run_out()
    return plant, simulator.events


def test_showers_add_up_and_flows_are_cut_where_they_change() -> None:
    assert [rain_rate(SHOWERS, t) for t in (0.0, 10.0, 26.0, 32.0, 35.0)] == pytest.approx(
        [0.0, 0.2, 0.3, 0.1, 0.0]
    )
    assert [next_change(SHOWERS, t) for t in (0.0, 10.0, 26.0, 30.0)] == [10.0, 25.0, 30.0, 35.0]
    pieces = rained_on([(15.0, 0.5), (30.0, 0.0)], SHOWERS, 2.0, 0.0)
    assert [one for part in pieces for one in part] == pytest.approx(
        [10.0, 0.5, 5.0, 0.9, 10.0, 0.4, 5.0, 0.6, 5.0, 0.2, 10.0, 0.0]
    )
    assert sum(seconds * flow for seconds, flow in pieces) == pytest.approx(15.0 * 0.5 + 5.0 * 2.0)


def test_rain_waters_every_plant_and_is_nobody_s_harm() -> None:
    plant, events = episode(0.0, {"at": 60.0, "seconds": 3600.0, "mm": 80.0})
    flows = plant["water_liters"]
    assert flows["applied"] == pytest.approx(80.0 * WORLD.soil.area)
    assert flows["runoff"] > 0.1
    assert plant["runoff_liters"] == pytest.approx(0.0, abs=1e-6)
    assert events == ()


def test_who_waters_before_the_rain_that_is_forecast_leaches_the_soil() -> None:
    """4.5 L alone stay in the root zone, and so does the rain alone; together they percolate."""
    assert episode(4.5)[1] == ()
    tomorrow = {"at": DAY, "seconds": 7200.0, "mm": 20.0}
    assert episode(0.0, tomorrow)[1] == ()
    _, events = episode(4.5, tomorrow)
    assert [(event.kind, event.entity, event.call) for event in events] == [("leaching", "plant_A", 1)]
    assert events[0].t_start > DAY
