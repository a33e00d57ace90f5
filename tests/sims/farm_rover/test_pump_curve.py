import math
from typing import Any

import pytest
from farm_rig import WORLD, at, do, rover
from pydantic import ValidationError

from devices.farm_rover.world import WaterPump
from sims.farm_rover.pump_curve import flow_share

CURVE = {"shutoff_head_m": 4.0, "lift_m": 0.8, "tank_height_m": 0.3, "full_v": 12.8, "empty_v": 11.4}
PUMP = WaterPump(**CURVE)


def dose(battery: float, liters: float = 5.0, **init: Any) -> tuple[float, float]:
    """The litres that a call for 2 L brings, and what it says."""
    simulator, _ = rover(
        {
            "safety_locked": False,
            "pose": at("plant_A"),
            "battery": battery,
            "water_tank": {"liters": liters},
            "rover": {"water_pump": CURVE},
            **init,
        }
    )
    said = do(simulator, "water_plant", plant_id="plant_A", liters=2.0).value
    state = simulator.state_dict()
    assert state["water_tank"]["booked_liters"] == pytest.approx(liters - 2.0)
    left = liters - state["water_tank"]["liters"]
    poured = state["plants"]["plant_A"]["water_liters"]["applied"]
    assert poured == pytest.approx(left, abs=1e-9)
    return poured, said["liters"]


def test_the_flow_is_where_pump_curve_and_system_curve_meet() -> None:
    """Bisection on both curves, with any split of the losses between pump and hose."""
    for charge, level in ((1.0, 1.0), (0.5, 0.7), (0.1, 0.0)):
        v = (11.4 + charge * 1.4) / 12.8
        lift = 0.8 + 0.3 * (1.0 - level)
        loss = 4.0 - 0.8
        low, high = 0.0, 2.0
        for _ in range(60):
            q = (low + high) / 2.0
            pump_head, needed = 4.0 * v * v - 0.3 * loss * q * q, lift + 0.7 * loss * q * q
            low, high = (q, high) if pump_head > needed else (low, q)
        assert flow_share(PUMP, charge, level) == pytest.approx(low, abs=1e-12)


def test_without_a_lift_flow_goes_with_the_speed() -> None:
    pump = WaterPump(**{**CURVE, "lift_m": 0.0, "tank_height_m": 0.0})
    assert flow_share(pump, 0.0, 0.3) == pytest.approx(11.4 / 12.8)


def test_a_pump_that_cannot_lift_the_water_gives_none() -> None:
    pump = WaterPump(**{**CURVE, "lift_m": 3.5})
    assert flow_share(pump, 0.0, 0.0) == 0.0
    assert dose(0.3, rover={"water_pump": {**CURVE, "lift_m": 3.9}})[0] == 0.0


def test_a_weak_battery_and_a_low_tank_make_the_dose_small_and_the_rover_does_not_know() -> None:
    full, weak, low = dose(1.0), dose(0.3), dose(1.0, liters=2.5)
    assert full == (pytest.approx(2.0), 2.0)
    assert weak == (pytest.approx(2.0 * flow_share(PUMP, 0.3, 1.0)), 2.0)
    assert low == (pytest.approx(2.0 * flow_share(PUMP, 1.0, 0.5)), 2.0)
    assert weak[0] < low[0] < full[0]
    assert not math.isclose(weak[0], low[0])


def test_a_curve_must_lift_the_water_when_all_is_full() -> None:
    for wrong in ({"lift_m": 4.0}, {"empty_v": 13.0}):
        with pytest.raises(ValidationError):
            WaterPump(**{**CURVE, **wrong})
    assert WORLD.rover.water_pump is None
