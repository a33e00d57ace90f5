import subprocess
from pathlib import Path

import pytest
from firmware_rig import RAM_BYTES, ram_used

from devices.registry import device_type
from firmware_bridge.firmware.build import BuildError, build, missing_packages
from sims.farm_rover import board_pins as pins
from sims.farm_rover import firmware_tables as tables
from sims.farm_rover.firmware_tables import HEADER, TableError, make_tables, shipped_world
from sims.overrides import merge_world

ROVER = HEADER.parent
STACK_BYTES = 2048

needs_compiler = pytest.mark.skipif(bool(missing_packages()), reason="the AVR tools are not installed")


def test_the_committed_tables_are_those_of_the_devices() -> None:
    assert HEADER.read_text(encoding="utf-8") == make_tables(shipped_world()), (
        "run python -m sims.farm_rover.firmware_tables"
    )


def test_the_tables_hold_every_tool_and_follow_the_world() -> None:
    world = shipped_world()
    text = make_tables(world)
    for tool in device_type("farm_rover").tools:
        assert f'{{"{tool.name}", ' in text
    moved = merge_world(world, {"plants": {"plant_A": {"x": 7.25}}})
    assert '{"plant_A", 7.25f, ' in make_tables(moved)


def test_what_the_board_has_no_room_for_is_named() -> None:
    five = merge_world(shipped_world(), {"plants": {"fifth": {"x": 1.0, "y": 1.0}}})
    with pytest.raises(TableError, match="4 moisture probes, the world 5 plants"):
        make_tables(five)
    long = merge_world(
        shipped_world(),
        {"plants": {"plant_A": None, "a_plant_with_a_very_long_name": {"x": 1.0, "y": 1.0}}},
    )
    with pytest.raises(TableError, match="a_plant_with_a_very_long_name"):
        make_tables(long)


@pytest.mark.firmware
@needs_compiler
def test_ram_leaves_room_for_the_stack_and_nothing_asks_for_a_heap() -> None:
    _emulator, elf = build(1)
    assert 0 < ram_used(elf) <= RAM_BYTES - STACK_BYTES
    symbols = subprocess.run(["avr-nm", elf], capture_output=True, text=True, check=True).stdout.split()
    assert not {"malloc", "calloc", "realloc", "free"} & set(symbols)


@pytest.mark.firmware
@needs_compiler
def test_pins_mean_the_same_on_both_sides() -> None:
    header = (ROVER / "board.h").read_text()
    for define, value in {
        "DUTY_MAX": f"{pins.DUTY_MAX}",
        "WHEEL_FULL_SPEED": f"{pins.WHEEL_FULL_SPEED}f",
        "TICKS_PER_M": f"{pins.TICKS_PER_M:.1f}f",
        "TRACK": f"{pins.TRACK}f",
        "PULSES_PER_L": f"{pins.PULSES_PER_L:.1f}f",
        "STEP_MS": f"{pins.STEP_S * 1000:g}",
    }.items():
        assert f"#define {define} {value}" in header
    for name, value in {"PUMP": pins.PUMP, "CHARGER": pins.CHARGER, "ENABLE": pins.ENABLE}.items():
        assert f"PIN_{name} = 0x{value:02X}" in header


def test_a_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildError, match=r"install .*gcc-avr.*libsimavr-dev"):
        build()
    assert tables.MAX_PLANTS == 4
