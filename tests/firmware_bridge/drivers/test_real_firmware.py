"""The two serial drivers against real firmware on an emulated board, where somebody has built it.

No registry that the set-up may use carries either firmware, so these tests need it from you: build GRBL 1.1
for the ATmega328P, or FarmBot's firmware for the ATmega2560, and name the ELF file in PATHRIG_GRBL_ELF or
PATHRIG_FARMBOT_ELF. The emulator is built here, with libsimavr.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from avr_board import Board, emulated, lacks
from driver_rig import Calling, driven, said

pytestmark = [pytest.mark.serial, pytest.mark.firmware]


@contextmanager
def board(folder: Path, mcu: str, variable: str) -> Iterator[Board]:
    firmware = os.environ.get(variable)
    if not firmware:
        pytest.skip(f"needs a built firmware: set {variable} to its ELF file")
    if missing := lacks():
        pytest.skip(missing)
    with emulated(folder, mcu, firmware) as running:
        yield running


def rig_file(folder: Path, base: str, url: str, **options: float) -> Path:
    path = folder / "rig.yaml"
    text = {"base": base, "name": "real", "url": url, "driver_options": options}
    path.write_text(yaml.safe_dump(text, sort_keys=False))
    return path


def test_grbl_moves_stops_and_is_taken_up_again(tmp_path: Path) -> None:
    near, far = {"x": 0.9, "y": 0.9, "z": 0.55}, {"x": 0.5, "y": 0.9, "z": 0.55}
    with (
        board(tmp_path, "atmega328p", "PATHRIG_GRBL_ELF") as grbl,
        driven(rig_file(tmp_path, "grbl-serial", grbl.url), "robotic_arm") as rig,
    ):
        assert said(rig.call("move_to", near, None)) == ("rejected", "safety_locked")
        assert rig.call("unlock_safety", {}, None).status == "ok"
        assert rig.call("move_to", near, None).value == {**near, "yaw": 0.0}
        assert rig.call("close_gripper", {}, None).status == "ok"
        moving = Calling(rig, "move_to", far)
        time.sleep(1.5)
        assert rig.client.estop()
        assert said(moving.result()) == ("fault", "stopped")
        assert rig.client.reset()
        first = rig.call("sense_pose", {}, None).value
        time.sleep(0.5)
        assert rig.call("sense_pose", {}, None).value == first
        assert isinstance(first, dict) and 0.5 < first["x"] < 0.9
        assert rig.call("sense_gripper", {}, None).value == {"gripper": "open", "holding": False}
        rig.call("unlock_safety", {}, None)
        assert rig.call("move_to", near, None).status == "ok"


def test_farmbot_moves_waters_and_stops(tmp_path: Path) -> None:
    water = 1 << 5  # pin 8 of the board is PH5
    with (
        board(tmp_path, "atmega2560", "PATHRIG_FARMBOT_ELF") as farmbot,
        driven(rig_file(tmp_path, "farmbot-serial", farmbot.url, mm_per_metre=10.0), "farm_rover") as rig,
    ):
        rig.call("unlock_safety_mode", {}, None)
        assert rig.call("move_to", {"x": 3.5, "y": 12.5}, None).status == "ok"
        assert rig.call("sense_pose", {}, None).value == {"x": 3.5, "y": 12.5, "yaw": 0.0}
        watering = Calling(rig, "water_plant", {"plant_id": "plant_B", "liters": 4.0})
        time.sleep(1.0)
        assert farmbot.outputs("H") & water
        assert rig.client.estop()
        assert not farmbot.outputs("H") & water
        assert said(watering.result()) == ("fault", "stopped")
        assert rig.client.reset()
        rig.call("unlock_safety_mode", {}, None)
        moving = Calling(rig, "move_to", {"x": 19.0, "y": 12.5})
        time.sleep(1.0)
        assert rig.client.estop()
        assert said(moving.result()) == ("fault", "stopped")
        assert rig.client.reset()
        pose = rig.call("sense_pose", {}, None).value
        assert isinstance(pose, dict) and 3.5 < pose["x"] < 19.0
