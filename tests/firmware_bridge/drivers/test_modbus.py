"""The Modbus driver against pymodbus's own server, on TCP and on a serial port."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from driver_rig import Calling, driven, faults_found, rig_file, said

from configs.rigs_loader import load_rig
from core_eval.rig.opening import open_rig
from core_eval.rig.signals import RigError
from devices.outcome import StopOutcome

pytest.importorskip("pymodbus")

from standins.modbus_board import ModbusBoard

pytestmark = [pytest.mark.serial, pytest.mark.stops]

LITER = {"plant_id": "plant_B", "liters": 3.0}


@pytest.mark.parametrize("rtu", [False, True])
def test_it_waters_reads_the_soil_and_closes_at_the_stop(rtu: bool, tmp_path: Path) -> None:
    with ModbusBoard(rtu=rtu) as board, driven(rig_file(tmp_path, "modbus", board.url), "farm_rover") as rig:
        assert said(rig.call("water_plant", LITER, None)) == ("rejected", "safety_locked")
        rig.call("unlock_safety_mode", {}, None)
        began = time.monotonic()
        assert said(rig.call("water_plant", LITER, None)) == ("ok", None)
        assert 0.1 <= time.monotonic() - began < 2.0
        opened, closed = (at for at, coil, _ in board.switched if coil == 1 and at >= began)
        assert closed - opened == pytest.approx(0.1, abs=0.05)
        assert rig.call("scan_plant", {"plant_id": "plant_A"}, None).value == {
            "plant_id": "plant_A",
            "soil": "wet",
        }
        assert said(rig.call("scan_plant", {"plant_id": "plant_B"}, None)) == ("rejected", "not_fitted")
        assert said(rig.call("spray_pesticide", {"plant_id": "plant_A", "ml": 1}, None)) == (
            "rejected",
            "not_fitted",
        )
        long = Calling(rig, "water_plant", {**LITER, "liters": 15.0})
        while board.switched[-1][1:] != (1, True):
            time.sleep(0.01)
        assert rig.client.estop() is StopOutcome.CONFIRMED
        assert said(long.result()) == ("fault", "stopped") and board.switched[-1][2] is False
        # A refusal of the device is its own fault, and leaves it stopped and locked.
        rig.client.reset()
    with ModbusBoard(rtu=rtu) as board:
        far = rig_file(tmp_path, "modbus", board.url, unit=1)
        far.write_text(far.read_text() + "driver_tables:\n  plants:\n    plant_B: {relay: 40}\n")
        with pytest.raises(RigError), open_rig(load_rig(str(far))) as session:
            session.initialise("farm_rover", {}, 0, required=False)


def test_it_tells_the_truth_on_a_disturbed_line(tmp_path: Path) -> None:
    found = faults_found(ModbusBoard, lambda own, board: rig_file(own, "modbus", board.url), tmp_path)
    assert all(one.verdict == "ok" for one in found), found
