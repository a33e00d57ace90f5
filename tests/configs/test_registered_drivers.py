"""Drivers that other packages register: as a YAML file, or as a Python class that a YAML file names."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from plugin import Plugin

from configs.drivers_loader import DRIVERS, driver_names, shipped_drivers

DEVICE = """
    name: dimmer
    description: A lamp with a dimmer.
    registers:
      level: {min: 0, max: 100, after_stop: 0}
    tools:
      set_level:
        description: Set the lamp's level.
        effect: write
        arguments:
          level: {unit: percent, min: 0, max: 100, description: the level}
        result:
          level: {unit: percent, register: level}
        sets: {level: {argument: level}}
      read_level:
        description: Read the lamp's level.
        effect: read
        result:
          level: {unit: percent, register: level}
    """
DRIVER = """
    name: lamp-python
    description: a lamp whose state is a file
    link: python
    python: pathrig_lamp:Lamp
    device: dimmer.yaml
    options:
      gain: {default: 1.0, description: factor of the level}
    """
MODULE = '''
    from pathlib import Path
    from urllib.parse import urlsplit

    from core_eval.call_status import CallStatus
    from devices.outcome import Outcome

    FILE = Path(__file__).parent / "drivers"

    class Lamp:
        """A lamp whose level stands in the file that the URL names."""
        name, firmware = "dimmer", "lamp 1"

        def __init__(self, url, settings):
            self._file = Path(urlsplit(url).path)
            self._gain = settings.options["gain"]
            if not self._file.exists():
                raise OSError(f"there is no lamp at {self._file}")

        def execute(self, tool, arguments, stop):
            if tool == "set_level":
                self._file.write_text(f"{arguments['level'] * self._gain:g}")
            return Outcome(CallStatus.OK, {"level": float(self._file.read_text())})

        def stop(self):
            self._file.write_text("0")

        def standing(self):
            return self._file.read_text() == "0"

        def reset(self): pass
        def init(self, state, seed): return Outcome(CallStatus.INVALID, code="physical", message="a lamp")
        def subscribe(self, emit): pass
        def truth(self): return None
        def close(self): (self._file.parent / "closed").touch()
    '''
TASK = """
    tasks:
      - id: half
        device: drivers/dimmer.yaml
        prompt: Set the lamp to 50 percent.
        plan: [{set_level: {level: 50}}]
    """


@pytest.fixture
def lamp(tmp_path: Path) -> Plugin:
    return Plugin(
        tmp_path,
        "pathrig-lamp",
        "pathrig.drivers",
        {"lamp-python": "pathrig_lamp:FILE"},
        {
            "pathrig_lamp.py": MODULE,
            "drivers/lamp-python.yaml": DRIVER,
            "drivers/dimmer.yaml": DEVICE,
            "task.yaml": TASK,
            "lamp": "7",
            "rig.yaml": f"name: hall\nurl: file://{tmp_path}/lamp\ndriver: lamp-python\n",
        },
    )


def test_the_kits_own_drivers_are_registered() -> None:
    assert set(shipped_drivers()) <= set(driver_names())
    assert all(DRIVERS[name].is_dir() for name in shipped_drivers())


@pytest.mark.slow
def test_a_python_class_drives_a_rig(lamp: Plugin) -> None:
    arguments = ("run", "--task", "task.yaml", "--rig", "rig.yaml", "--agent", "oracle", "--json")
    done = lamp.pathrig(*arguments)
    assert done.returncode == 0, done.stderr
    episode = json.loads(done.stdout)["episodes"][0]
    assert (episode["status"], episode["stop"]) == ("completed", "confirmed")
    assert episode["path_correctness"] == 1.0
    with sqlite3.connect(lamp.folder / "pathrig.db") as log:
        assert log.execute("SELECT status, json_extract(result, '$.level') FROM step").fetchall() == [
            ("ok", 50.0)
        ]
    assert (lamp.folder / "lamp").read_text() == "0" and (lamp.folder / "closed").exists()


@pytest.mark.slow
def test_rigs_check_with_look_leaves_it_as_it_is(lamp: Plugin) -> None:
    done = lamp.main(DRIVERS, "rigs", "check", "rig.yaml", "--look", "--json")
    assert (lamp.folder / "lamp").read_text() == "7", done.stderr
    assert json.loads(done.stdout)["firmware"] == "lamp 1"
    assert lamp.main(DRIVERS, "rigs", "check", "rig.yaml").returncode == 0
    assert (lamp.folder / "lamp").read_text() == "0"


def test_hardware_that_cannot_be_opened_is_one_line(lamp: Plugin) -> None:
    (lamp.folder / "lamp").unlink()
    done = lamp.main(DRIVERS, "rigs", "check", "rig.yaml")
    assert done.returncode == 3 and "Traceback" not in done.stderr
    assert f"driver lamp-python: there is no lamp at {lamp.folder}/lamp" in done.stderr


@pytest.mark.parametrize(
    ("file", "old", "new", "error"),
    [
        (
            "drivers/lamp-python.yaml",
            "pathrig_lamp:Lamp",
            "pathrig_lamp:Lump",
            "Lump' cannot be",
        ),
        (
            "drivers/lamp-python.yaml",
            "pathrig_lamp:Lamp",
            "pathrig_lamp:FILE",
            "FILE' is no class",
        ),
        ("pathrig_lamp.py", "def standing(self)", "def confirms(self)", "has no method standing"),
        ("drivers/lamp-python.yaml", "link: python", "link: serial", "a class is for link python"),
        ("rig.yaml", "driver: lamp-python", "driver: lump-python", "no driver 'lump-python'; there are"),
        ("rig.yaml", "driver: lamp-python", "driver: pathrig-json", "driver pathrig-json needs a URL like"),
        ("pathrig_lamp.py", 'FILE = Path(__file__).parent / "drivers"', "FILE = 3", "which must be a Path"),
    ],
)
def test_a_mistake_is_one_line(lamp: Plugin, file: str, old: str, new: str, error: str) -> None:
    path = lamp.folder / file
    path.write_text(path.read_text().replace(old, new))
    done = lamp.main(DRIVERS, "rigs", "check", "rig.yaml")
    assert done.returncode == 2 and error in done.stderr, done.stderr
    assert done.stderr.count("\n") == 1


def test_a_driver_file_of_a_package_is_found_by_name(tmp_path: Path) -> None:
    driver = (Path(__file__).parents[2] / "configs" / "drivers" / "tasmota-mqtt.yaml").read_text()
    plugin = Plugin(
        tmp_path,
        "pathrig-valves",
        "pathrig.drivers",
        {"my-valves": "pathrig_valves:FILE"},
        {
            "pathrig_valves.py": "import pathlib\nFILE = pathlib.Path(__file__).parent / 'some.yaml'\n",
            "rig.yaml": "name: a\nurl: mqtt://127.0.0.1:1/valves\ndriver: my-valves\n",
        },
    )
    (tmp_path / "some.yaml").write_text(driver.replace("name: tasmota-mqtt", "name: my-valves"))
    done = plugin.main(DRIVERS, "rigs", "check", "rig.yaml")
    assert done.returncode == 3 and "127.0.0.1" in done.stderr, done.stderr
