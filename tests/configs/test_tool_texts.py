"""What a model reads of a tool states the facts of the world that it acts in."""

from pathlib import Path
from typing import Any

import pytest

from configs.tasks_loader import load_task
from configs.worlds_loader import load_world
from core_eval.log import LogReader, RunLog, ignore
from core_eval.path.plan import compile_plan
from core_eval.run.config import Cell, RunConfig
from core_eval.run.parts import load_parts
from core_eval.run.plan import Run
from devices.farm_rover.tools import FARM_ROVER
from devices.inferred_device import device_from_alphabet
from devices.tool import Effect, NoArguments, Tool
from training.rover_world import ROVER
from training.shipped import taught

SMALL_REACH = """\
base: farm_rover
rover: {reach: 0.35}
water_tank: {capacity_liters: 12.5, liters: 12.0}
pesticide_tank: {capacity_ml: 90.0, ml: 90.0}
stations: {shed_door: {x: 7.0, y: 9.0}}
"""
WATER = "Water a plant that is within {} m, from the tank of {} litres."


def texts(schemas: list[dict[str, Any]]) -> dict[str, str]:
    return {schema["function"]["name"]: schema["function"]["description"] for schema in schemas}


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    path = tmp_path / "garden.yaml"
    path.write_text(SMALL_REACH)
    return path


def test_a_changed_worlds_own_numbers_and_names_are_told(changed: Path) -> None:
    schemas = load_world(str(changed)).device.schemas()
    told = texts(schemas)
    assert told["water_plant"] == WATER.format(0.35, 12.5)
    assert "within 0.35 m, from the tank of 90 ml" in told["spray_pesticide"]
    assert not [name for name, text in told.items() if "1 m" in text or "{" in text]
    (station,) = [one["function"] for one in schemas if one["function"]["name"] == "get_station_pose"]
    assert station["parameters"]["properties"]["station_name"]["description"] == (
        "base, collection_bin, water_station, pesticide_refill, charging_pad or shed_door"
    )


def test_the_default_worlds_texts_are_those_that_the_shipped_model_learnt() -> None:
    schemas = taught(load_world("farm_rover").device).schemas()
    assert schemas == ROVER.schemas()
    told = texts(schemas)
    assert told["water_plant"] == "Water a plant that is within 1 m, from the tank of 5 litres."
    assert told["spray_pesticide"] == (
        "Spray pesticide on a plant that is within 1 m, from the tank of 250 ml."
    )
    assert told["recharge"] == "Charge the battery, within 1 m of the charging_pad."


def test_overrides_of_the_state_are_told_too() -> None:
    task = load_task("water_one_plant", init={"rover": {"reach": 2.0}})
    assert texts(task.device.schemas())["water_plant"] == WATER.format(2, 5)
    assert task.device == FARM_ROVER


@pytest.mark.parametrize("site", [False, True])
def test_a_run_tells_of_the_world_that_its_rig_works_in(tmp_path: Path, changed: Path, site: bool) -> None:
    rig = tmp_path / "rig.yaml"
    # The world as the address of a simulator, and beside it.
    kind = f"url: sim:{changed}\n" if site else f"url: sim:farm_rover\nworld: {changed}\n"
    rig.write_text(f"name: garden\ndevice: farm_rover\n{kind}")
    cell = Cell(task="water_one_plant", rig=str(rig), agent="oracle")
    config = RunConfig(cells=(cell,))
    with RunLog(tmp_path / "log.db") as log:
        Run(config, load_parts(config), log, ignore).start()
    with LogReader(tmp_path / "log.db") as reader:
        (episode,) = reader.episodes()
    assert texts(list(episode.definition.tools))["water_plant"] == WATER.format(0.35, 12.5)


def test_texts_that_were_not_filled_in_never_reach_a_model() -> None:
    with pytest.raises(ValueError, match="water_plant states facts of a world"):
        FARM_ROVER.schemas()


def test_a_foreign_tools_braces_are_no_facts() -> None:
    automaton = compile_plan(["open_{x}"], free_reads=(), file="f", task="t")
    device = device_from_alphabet("nowhere", automaton)
    assert texts(device.schemas()) == {"open_{x}": "Open {x}."}
    plain = Tool("a", "Do it.", NoArguments, device.tools[0].result, Effect.READ)
    assert plain.schema()["function"]["description"] == "Do it."
