"""Interlocks are declared once: host, simulator and board look at the same checks in the same order."""

from __future__ import annotations

import re

import pytest
from paths import ROOT

from configs.worlds_loader import load_world
from devices.farm_rover.interlocks import FARM_INTERLOCKS, RoverView
from devices.interlocks import check_interlocks
from devices.outcome import Refusal
from devices.robotic_arm.interlocks import ARM_INTERLOCKS, ArmView
from sims.farm_rover.firmware_tables import HEADER
from sims.world_type import WORLD_TYPES

TOOL_ARGUMENTS = {
    "x": 1.0, "y": 1.0, "z": 0.3, "yaw": 0.0, "plant_id": "p", "station_name": "s", "object_id": "o",
    "liters": 1.0, "ml": 1.0,
}  # fmt: skip


@pytest.mark.parametrize("name", ["farm_rover", "robotic_arm"])
def test_host_and_simulator_have_the_same_declaration(name: str) -> None:
    world = WORLD_TYPES[name]
    simulator = world.simulator(load_world(name).state, 0)
    assert world.known_state is not None
    known = world.known_state(None, False)
    assert simulator.interlocks is known.interlocks
    assert set(simulator.interlocks) <= set(world.device.by_name)


@pytest.mark.parametrize(("interlocks", "view"), [(FARM_INTERLOCKS, RoverView), (ARM_INTERLOCKS, ArmView)])
def test_what_is_not_known_refuses_nothing(interlocks, view) -> None:
    for tool in interlocks:
        check_interlocks(interlocks, tool, lambda: view(world=None), TOOL_ARGUMENTS)


def test_the_first_check_that_fails_is_the_one_that_is_told() -> None:
    view = RoverView(world=None, locked=True, water=0.0, ripe={"p": False}, fruit=2, capacity=2)
    told = {}
    for tool in FARM_INTERLOCKS:
        try:
            check_interlocks(FARM_INTERLOCKS, tool, lambda: view, TOOL_ARGUMENTS)
        except Refusal as refusal:
            told[tool] = refusal.code
    locked = {tool for tool, checks in FARM_INTERLOCKS.items() if "unlocked" in [c.name for c in checks]}
    assert told == dict.fromkeys(locked, "safety_locked")
    view = RoverView(world=None, locked=False, ripe={"p": False}, fruit=2, capacity=2)
    with pytest.raises(Refusal) as raised:
        check_interlocks(FARM_INTERLOCKS, "harvest_fruit", lambda: view, TOOL_ARGUMENTS)
    assert raised.value.code == "not_ripe"


def test_a_forced_call_is_refused_only_what_nobody_can_do() -> None:
    view = ArmView(world=None, locked=True, empty=True)
    check_interlocks(ARM_INTERLOCKS, "place", lambda: view, TOOL_ARGUMENTS, forced=True)
    with pytest.raises(Refusal) as raised:
        check_interlocks(ARM_INTERLOCKS, "place", lambda: view, {**TOOL_ARGUMENTS, "z": -0.1}, forced=True)
    assert raised.value.code == "below_bench"


def test_the_boards_table_has_the_declared_order() -> None:
    rows = re.search(
        r"interlocks\[TOOL_COUNT\]\[CHECKS_MAX\] PROGMEM = \{\n(.*?)\};", HEADER.read_text(), re.S
    )
    assert rows is not None
    tools = list(WORLD_TYPES["farm_rover"].device.by_name)
    for tool, row in zip(tools, rows[1].splitlines(), strict=True):
        checks = [check.name for check in FARM_INTERLOCKS.get(tool, ())]
        assert re.findall(r"CHECK_(\w+)", row) == [*(name.upper() for name in checks), "COUNT"]


def test_no_physics_refuses_a_call_by_itself() -> None:
    for path in [
        *(ROOT / "sims" / "farm_rover").glob("*.py"),
        *(ROOT / "sims" / "robotic_arm").glob("*.py"),
    ]:
        assert "Refusal(" not in path.read_text(), path.name
