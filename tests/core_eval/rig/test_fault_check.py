"""`rigs new --driver NAME` writes a driver that is right; `rigs check --faults` finds mistakes in it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from configs.rigs_loader import load_rig
from core_eval.cli.main import main
from core_eval.rig.check import RigReport, check_rig
from core_eval.rig.fault_check import check_faults
from core_eval.rig.signals import RigError
from firmware_bridge.fault_proxy import Disturbance, FaultProxy
from firmware_bridge.link import LinkError

pytestmark = [pytest.mark.serial, pytest.mark.stops]


SEND = 'self._port.send("STOP")'
STANDS = "\n\n    def standing(self) -> bool:\n        return "
ASKS = 'self._state()[0] == "IDLE"'


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The test that the written package ships; its folder is importable."""
    monkeypatch.chdir(tmp_path)
    assert main(["rigs", "new", "--driver", "dosing_pump"]) == 0
    folder = tmp_path / "dosing_pump"
    monkeypatch.syspath_prepend(str(folder))
    yield importlib.import_module("test_dosing_pump")
    for name in ("test_dosing_pump", "pathrig_dosing_pump"):
        sys.modules.pop(name, None)


@pytest.fixture
def rig(package: Any, tmp_path: Path) -> Iterator[Path]:
    """The rig of its test, over a pump that is played."""
    (made,) = package.rig.__wrapped__(tmp_path)
    yield Path(made)


def spoil(folder: Path, right: str, wrong: str) -> None:
    """Make a mistake in the driver's class."""
    file = folder / "dosing_pump" / "pathrig_dosing_pump" / "__init__.py"
    text = file.read_text()
    assert text.count(right) == 1
    file.write_text(text.replace(right, wrong))


def checked(rig: Path, *faults: Disturbance) -> RigReport:
    return check_faults(load_rig(str(rig)), faults)


def test_the_written_driver_passes_its_own_test(package: Any, rig: Path, tmp_path: Path) -> None:
    package.test_the_task_runs(str(rig), tmp_path)
    assert (tmp_path / "dosing_pump" / "pathrig_dosing_pump" / "__init__.py").read_text().count("\n") <= 60
    package.test_it_tells_the_truth_on_a_disturbed_line(str(rig))


@pytest.mark.parametrize(
    ("right", "wrong", "fault", "says"),
    [
        (
            'return self._state()[0] == "IDLE"',
            "return True",
            Disturbance.MUTE,
            "the stop is confirmed, and nothing was heard",
        ),
        (
            'return {"ml": self._state()[1]}',
            'try: return {"ml": self._state()[1]}\n        except OSError: return {"ml": 0.0}',
            Disturbance.CUT,
            "read_poured is ok, and nothing was heard",
        ),
        (SEND + STANDS + ASKS, f"pass{STANDS}None", Disturbance.MUTE, "the stop was not written"),
        (
            'return {"ml": self._state()[1]}',
            'try: return {"ml": self._state()[1]}\n        except OSError: raise ValueError from None'
            "\n\n    poll_seconds = 99.0",
            Disturbance.MUTE,
            "the driver failed: ValueError",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_found(
    right: str, wrong: str, fault: Disturbance, says: str, rig: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr("core_eval.rig.fault_check.BACK_SECONDS", 3.0)
    spoil(tmp_path, right, wrong)
    report = checked(rig, fault)
    assert report.failed and says in report.failed[0].text, report


def test_a_method_that_is_no_tools_is_told_when_the_rig_is_loaded(
    rig: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(tmp_path, "def pour(self, ml: float)", "def pour(self, dose: float)")
    assert main(["rigs", "check", str(rig), "--allow-programs"]) == 2
    says = "python: Driver.pour: missing a required argument: 'dose'; the arguments of the tool are ml"
    assert f"dosing_pump.yaml:4: {says}" in capsys.readouterr().err


def test_a_sample_that_is_no_sensors_fails_the_check(rig: Path, tmp_path: Path) -> None:
    spoil(tmp_path, 'self.sample("poured"', 'self.sample("purred"')
    (failed,) = check_rig(load_rig(str(rig))).failed
    assert (failed.check, failed.text) == ("sensors", "1: purred=0.0; the device file has no sensor purred")


def test_it_needs_a_driver_and_a_line_to_stand_between(tmp_path: Path) -> None:
    with pytest.raises(RigError, match="--faults is for rigs with a driver"):
        checked(Path("sim:farm_rover"))
    with pytest.raises(LinkError, match="no TLS"):
        FaultProxy("mqtts://broker.local/garden")
    assert main(["rigs", "check", "sim:farm_rover", "--faults", "--look"]) == 2


def test_a_slip_of_a_drivers_name_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["rigs", "new", "--driver", "grbl_serial"]) == 2
    assert main(["rigs", "new", "--driver", "my_gripper", "--port", "/dev/ttyS9"]) == 2
    assert list(tmp_path.iterdir()) == []
