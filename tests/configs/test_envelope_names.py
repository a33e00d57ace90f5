"""An envelope that names what its device does not have is an error, since it would be no limit."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench_rig import BenchRover, on_a_pty

from configs.errors import ConfigError
from configs.rigs_loader import load_rig
from core_eval.rig.check import check_rig
from core_eval.run.config import Cell, RunConfig
from core_eval.run.parts import load_parts

pytestmark = pytest.mark.serial

NO_TOOL = "a farm_rover has no tool 'move'; the nearest is move_to"


def rig(folder: Path, envelope: str, *, url: str = "mqtt://host/rover", device: str = "farm_rover") -> Path:
    path = folder / "barn.yaml"
    named = f"device: {device}\n" if device else ""
    path.write_text(f"name: barn\nurl: {url}\n{named}envelope:\n{envelope}")
    return path


@pytest.mark.parametrize(
    ("envelope", "said"),
    [
        (
            "  water_plant: {liters: {max: 1}}\n  move: {x: {max: 2}}\n",
            rf"barn\.yaml:6: envelope\.move: {NO_TOOL}",
        ),
        (
            "  water_plants: {liters: {max: 1}}\n",
            r"barn\.yaml:5: envelope\.water_plants: .*the nearest is water_plant",
        ),
        (
            "  water_plant:\n    litres: {max: 1}\n",
            r"barn\.yaml:6: envelope\.water_plant\.litres: water_plant has no argument 'litres'; "
            "the nearest is liters",
        ),
        ("  zzz: {x: 1}\n", r"barn\.yaml:5: envelope\.zzz: .*there are dump_hopper, "),
    ],
)
def test_a_mistyped_name_is_told_with_its_line_and_the_nearest(
    tmp_path: Path, envelope: str, said: str
) -> None:
    with pytest.raises(ConfigError, match=said) as error:
        load_rig(str(rig(tmp_path, envelope)))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("means", ["site: farm_rover", "twin: {world: farm_rover}", "driver: farmbot-serial"])
def test_the_device_may_be_told_by_site_twin_or_driver(tmp_path: Path, means: str) -> None:
    url = "serial:///dev/ttyACM0" if "driver" in means else "mqtt://host/rover"
    path = rig(tmp_path, f"  move: {{x: 1}}\n{means}\n", device="", url=url)
    with pytest.raises(ConfigError, match=NO_TOOL):
        load_rig(str(path))


def test_a_rig_whose_device_only_the_task_tells_is_refused_before_anything_moves(tmp_path: Path) -> None:
    path = rig(tmp_path, "  move: {x: {max: 2}}\n", device="")
    load_rig(str(path))
    cell = Cell(task="water_one_plant", rig=str(path), agent="oracle")
    with pytest.raises(ConfigError, match=rf"barn\.yaml: envelope\.move: {NO_TOOL}"):
        load_parts(RunConfig(cells=(cell,)))


def test_the_check_of_a_rig_that_tells_its_device_itself_fails(tmp_path: Path) -> None:
    with on_a_pty(BenchRover()) as url:
        report = check_rig(load_rig(str(rig(tmp_path, "  move: {x: {max: 2}}\n", device="", url=url))))
    (told,) = [one for one in report.failed if one.check == "envelope"]
    assert NO_TOOL in told.text


def test_names_that_the_device_has_are_taken(tmp_path: Path) -> None:
    path = rig(tmp_path, "  move_to: {x: {min: 0, max: 2}, yaw: {any: true}}\n")
    assert load_rig(str(path)).envelope["move_to"]["x"] == {"min": 0, "max": 2}
