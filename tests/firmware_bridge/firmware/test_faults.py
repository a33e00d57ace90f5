"""Faults that only a machine has: the firmware compiled for this machine, wheels and pump at its pins."""

import math
import shutil
from pathlib import Path
from typing import Any

import pytest
from firmware_native import NativeRover, compile_rover

from firmware_bridge.lines import to_line
from sims.farm_rover import board_pins as pins

WATER_FLOW = 0.1
"""L/s of the rover's pump."""
ARRIVED_M = 0.05
OFF_COURSE_M = 0.15
ODOMETRY_M = 0.1
"""How far the pose by odometry may be from the true one after 10 m, by pulses of 2 mm."""

pytestmark = [pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler"), pytest.mark.firmware]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_rover(tmp_path_factory.mktemp("rover"))


@pytest.fixture
def rover(compiled: Path, tmp_path: Path) -> NativeRover:
    rover = NativeRover(compiled, tmp_path)
    assert rover.call("unlock_safety_mode")["status"] == "ok"
    return rover


@pytest.mark.parametrize("boot", [1, 40, 99_999, 4_294_967_295])
def test_a_call_for_another_boot_is_late(rover: NativeRover, boot: int) -> None:
    rover.set_boot(boot)
    escaped = "".join(f"\\u{ord(digit):04x}" for digit in str(boot))
    own = [f'"{boot}"', str(boot), f'"{escaped}"', "null"]
    another = [boot - 1, f'"{boot}0"', f'"0{boot}"', f'"{str(boot)[1:]}"', '""', f'"{boot}x"', f'" {boot}"']
    another += [f"-{boot}", f"1{boot}", f"{boot}000000000000000", '"' + 40 * "1" + '"', '"' + 300 * "1" + '"']
    for number, given in enumerate(own + another):
        call = f'{{"op":"call","id":"boot {number}","tool":"sense_pose","boot":{given}}}'
        rover.hear(to_line(call.encode()))
        result = rover.result(f"boot {number}")
        assert result["status"] == ("ok" if number < len(own) else "fault"), given
        assert number < len(own) or result["error"]["code"] == "late"


def off(rover: NativeRover, x: float, y: float) -> float:
    """Metres between the rover's true place and there."""
    return math.hypot(rover["true_x"] - x, rover["true_y"] - y)


def code(answer: dict[str, Any]) -> str:
    assert answer["status"] == "fault", answer
    return str(answer["error"]["code"])


@pytest.mark.parametrize(("x", "y", "yaw"), [(6.5, 5.0, 0.0), (2.0, 5.0, -3.0), (14.0, 8.5, 1.5)])
@pytest.mark.parametrize("shares", [(1.0, 1.0), (1.0, 0.9), (0.95, 1.0)])
def test_a_healthy_rover_and_one_with_uneven_wheels_arrive(
    rover: NativeRover, x: float, y: float, yaw: float, shares: tuple[float, float]
) -> None:
    rover.set_wheels(*shares)
    answer = rover.call("move_to", x=x, y=y, yaw=yaw)
    assert answer["status"] == "ok", answer
    value = answer["value"]
    assert math.hypot(value["x"] - x, value["y"] - y) <= ARRIVED_M
    assert off(rover, value["x"], value["y"]) <= ODOMETRY_M
    assert rover.duty == (0, 0)


def test_steps_that_a_slow_loop_comes_late_for_are_not_lost(rover: NativeRover) -> None:
    quick = rover.call("move_to", x=7.0, y=5.0)
    rover.set_turn_ms(24)
    slow = rover.call("move_to", x=9.0, y=5.0)
    assert (quick["status"], slow["status"]) == ("ok", "ok")
    assert slow["dur"] == pytest.approx(quick["dur"], rel=0.1)


@pytest.mark.parametrize("shares", [(1.0, 0.0), (0.0, 1.0), (0.0, 0.0)])
@pytest.mark.parametrize("goal", [(6.5, 5.0), (2.0, 5.0), (5.0, 6.0)])
def test_a_wheel_that_does_not_turn_is_a_stall(
    rover: NativeRover, shares: tuple[float, float], goal: tuple[float, float]
) -> None:
    rover.set_wheels(*shares)
    answer = rover.call("move_to", x=goal[0], y=goal[1])
    assert code(answer) == "stalled"
    assert answer["dur"] < 2.0
    assert rover.duty == (0, 0)
    assert off(rover, 5.0, 5.0) <= OFF_COURSE_M


@pytest.mark.parametrize("shares", [(1.0, 0.3), (0.3, 1.0)])
@pytest.mark.parametrize("goal", [(6.5, 5.0), (2.0, 5.0), (14.0, 8.5)])
def test_a_weak_wheel_that_leads_off_the_way_is_a_fault(
    rover: NativeRover, shares: tuple[float, float], goal: tuple[float, float]
) -> None:
    rover.set_wheels(*shares)
    answer = rover.call("move_to", x=goal[0], y=goal[1])
    assert code(answer) == "off_course"
    assert rover.duty == (0, 0)
    pose = rover.call("sense_pose")["value"]
    assert off(rover, pose["x"], pose["y"]) <= ODOMETRY_M


def test_wheels_that_creep_are_overdue(rover: NativeRover) -> None:
    rover.set_wheels(0.2, 0.2)
    answer = rover.call("move_to", x=15.0, y=2.0)
    assert code(answer) == "overdue"
    expected = 3 + math.hypot(10, 3) + 2 + 3
    assert answer["dur"] == pytest.approx(2 * expected, abs=1.0)
    assert rover.duty == (0, 0)


def at_a_plant(rover: NativeRover) -> None:
    assert rover.call("move_to", x=3.5, y=12.5)["status"] == "ok"


def test_a_pump_and_a_meter_that_are_well_give_what_was_asked(rover: NativeRover) -> None:
    at_a_plant(rover)
    answer = rover.call("water_plant", plant_id="plant_B", liters=1.0)
    assert answer["status"] == "ok"
    assert rover["pumped_liters"] == pytest.approx(1.0, abs=0.01)
    assert rover.acks >= 9


@pytest.mark.parametrize(
    ("share", "fault"), [(0.0, "no_flow"), (1 / 130.5, "flow_low"), (0.25, "flow_low"), (5.0, "flow_high")]
)
@pytest.mark.parametrize("liters", [0.3, 1.0, 4.0])
def test_a_flow_meter_that_counts_wrongly_ends_the_pumping(
    rover: NativeRover, share: float, fault: str, liters: float
) -> None:
    """1 / 130.5: one pulse in 2.9 s."""
    at_a_plant(rover)
    rover.set_meter(share)
    answer = rover.call("water_plant", plant_id="plant_B", liters=liters)
    assert code(answer) == fault
    assert not rover.switched & pins.PUMP
    assert rover["pump_seconds"] <= 2 * liters / WATER_FLOW + 3.1
    assert rover["pumped_liters"] <= 2 * liters + 0.31


def test_a_pump_at_three_fifths_of_its_flow_ends_by_what_was_measured(rover: NativeRover) -> None:
    at_a_plant(rover)
    rover.set_meter(0.6)
    answer = rover.call("water_plant", plant_id="plant_B", liters=1.0)
    assert answer["status"] == "ok"
    assert rover["pump_seconds"] == pytest.approx(10 / 0.6, abs=0.1)


def test_water_that_was_not_measured_is_taken_off_the_tank(rover: NativeRover) -> None:
    at_a_plant(rover)
    rover.set_meter(1 / 130.5)
    assert code(rover.call("water_plant", plant_id="plant_B", liters=1.0)) == "flow_low"
    answer = rover.call("water_plant", plant_id="plant_B", liters=4.9)
    assert answer["error"]["code"] == "not_enough_in_tank"
