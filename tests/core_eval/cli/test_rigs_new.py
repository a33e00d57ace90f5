import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from paths import ROOT

from configs.drivers_loader import driver_names, load_driver
from configs.rigs_loader import load_rig
from core_eval.cli.main import main

pytestmark = pytest.mark.serial

ENDS = {
    "serial": ["--port", "/dev/ttyUSB7"],
    "mqtt": ["--broker", "mqtt://me:word@garden.local:1884", "--topic", "valves"],
}


@pytest.mark.parametrize("driver", [*driver_names(), "pathrig-json over mqtt"])
def test_what_it_writes_loads(driver: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    driver, _, over = driver.partition(" over ")
    link = over or ("mqtt" if load_driver(driver).link == "mqtt" else "serial")
    command = ["rigs", "new", "--name", "mine", "--driver", driver, "--link", link, *ENDS[link]]
    assert main([*command, "--device", "robotic_arm", "--guard", "estop"]) == 0
    rig = load_rig("mine.yaml")
    assert (rig.name, rig.guard) == ("mine", "estop")
    assert rig.url.startswith(f"{link}://")
    assert rig.device == (load_driver(driver).device or "robotic_arm")


def test_it_asks_on_a_terminal(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "core_eval.cli.main", "rigs", "new", "asked.yaml"]
    where = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=tmp_path, env=where
    ) as process:
        os.close(theirs)
        # name, driver, port, guard: the last two as they are proposed
        os.write(ours, b"bed-1\ngrbl-serial\n\n\n")
        out, _ = process.communicate(timeout=60)
    os.close(ours)
    assert process.returncode == 0, out
    assert b"Driver (esphome-mqtt, farmbot-serial" in out
    rig = load_rig(str(tmp_path / "asked.yaml"))
    assert (rig.name, rig.guard, rig.device) == ("bed-1", "block", "robotic_arm")
    assert rig.url == "serial:///dev/ttyACM0?baud=115200"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--name", "a"], "standard input is no terminal: give --driver"),
        (["--name", "a", "--driver", "tasmota-mqtt"], "give --broker"),
        (["--name", "a", "--driver", "farmbot"], "no driver 'farmbot'; there are esphome-mqtt"),
        (["--name", "a", "--driver", "pathrig-json", "--link", "usb"], "--link must be one of serial, mqtt"),
        (
            ["--name", "a", "--driver", "tasmota-mqtt", "--broker", "mqtt://h:77777", "--topic", "t"],
            "a.yaml:2: url: 'mqtt://h:77777/t': the port must be a number",
        ),
    ],
)
def test_what_is_wrong_is_said_and_leaves_no_file(
    options: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", open(os.devnull))  # noqa: SIM115, PTH123
    assert main(["rigs", "new", *options]) == 2
    assert says in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_it_writes_over_nothing_unless_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["rigs", "new", "--name", "mine", "--driver", "grbl-serial", "--port", "/dev/ttyS0"]
    Path("mine.yaml").write_text("precious")
    assert main(command) == 2
    assert Path("mine.yaml").read_text() == "precious"
    assert main([*command, "--force"]) == 0
    assert load_rig("mine.yaml").name == "mine"
