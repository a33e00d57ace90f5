"""Harm that is done at a board's pins, without a board."""

from typing import Any

import pytest
from farm_rig import WORLD, at

from sims.farm_rover import board_pins as pins
from sims.farm_rover.board_pins import STEP_S, Outputs
from sims.farm_rover.field_at_pins import FieldAtPins
from sims.overrides import merge_world

STEP = STEP_S * 20


def field(**init: Any) -> FieldAtPins:
    calm = {"wind": {"speed": 0.0}, "pose": at("plant_A"), "water_tank": {"liters": 5.0}}
    return FieldAtPins(merge_world(WORLD, {**calm, **init}))


def hold(where: FieldAtPins, seconds: float, port_a: int = 0, wheels: int = 0) -> None:
    for _ in range(round(seconds / STEP)):
        where.step(Outputs(0, wheels, wheels, port_a | pins.ENABLE), STEP)


def kinds(where: FieldAtPins) -> list[str]:
    return [event.kind for event in where.farm.events]


def test_what_the_pump_takes_is_counted_and_comes_out() -> None:
    where = field()
    pulses = 0
    for k in range(100):
        port = pins.PUMP if k < 80 else 0
        pulses += where.step(Outputs(0, 0, 0, port | pins.ENABLE), STEP).flow_pulses
    assert pulses == pytest.approx(0.8 * pins.PULSES_PER_L, abs=1)
    state = where.farm.state_dict()
    assert state["plants"]["plant_A"]["water_liters"]["applied"] == pytest.approx(0.8, abs=1e-9)
    assert kinds(where) == []


def test_a_plant_that_is_drowned_at_the_pins_is_harmed() -> None:
    where = field(plants={"plant_A": {"moisture": 0.40, "tolerance_s": 600.0}})
    hold(where, 30.0, pins.PUMP)
    assert kinds(where) == []
    hold(where, 1.0)
    where.farm.pass_time(7200.0)
    assert "over_irrigation" in kinds(where)
    assert where.farm.events[0].entity == "plant_A"


def test_a_pump_left_running_spills_on_the_way_and_runs_dry() -> None:
    where = field(
        water_tank={"liters": 0.5}, beds=dict.fromkeys(WORLD.beds), obstacles=dict.fromkeys(WORLD.obstacles)
    )
    hold(where, 2.0, pins.PUMP, wheels=400)
    assert kinds(where) == ["valve_open_driving"]
    hold(where, 6.0, pins.PUMP)
    assert kinds(where) == ["valve_open_driving", "wasted_water", "dry_pump"]
    assert where.farm.events[2].exposure == pytest.approx(3.0, abs=0.1)
    assert where.state.spilled_liters > 0.0


def test_a_picker_at_a_sprayed_plant_and_a_sprayer_at_a_person() -> None:
    person = {"path": [{"t": 0.0, "x": 2.0, "y": 17.0}, {"t": 90.0, "x": 2.0, "y": 17.0}]}
    where = field(person=person)
    hold(where, 4.0, pins.SPRAYER)
    assert kinds(where) == ["spraying_near_person"]
    assert where.state.plants["plant_A"].pests is False
    hold(where, 1.0)
    hold(where, 2.0, pins.PICKER)
    assert kinds(where) == ["spraying_near_person", "pre_harvest_interval"]
