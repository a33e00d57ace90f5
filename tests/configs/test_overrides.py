"""An override of an initial state changes what it names and what is derived from it, however it comes."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from configs.worlds_loader import World, load_world, merged_state
from core_eval.cli.main import main
from core_eval.log import LogReader
from devices.farm_rover.soil_texture import TEXTURES, drainage_s
from devices.farm_rover.world import FarmWorld
from devices.models import DERIVED, given
from sims.overrides import merge_world


@pytest.fixture(autouse=True)
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def by_file(world: World, overrides: dict[str, Any]) -> Any:
    Path("own.yaml").write_text(yaml.safe_dump({"base": world.name, **overrides}))
    return load_world("own.yaml").state


def sandy(state: Any) -> None:
    sand = TEXTURES["sand"]
    soil = state.soil
    assert (soil.texture, soil.conductivity_mm_h, soil.field_capacity) == ("sand", 117.8, 0.091)
    assert soil.drainage_s == drainage_s(sand.conductivity_mm_h)


def test_a_texture_brings_its_own_values_by_every_way(capsys: pytest.CaptureFixture[str]) -> None:
    overrides = {"soil": {"texture": "sand"}}
    world = load_world("farm_rover")
    sandy(by_file(world, overrides))
    Path("init.json").write_text(json.dumps(overrides))
    Path("task.yaml").write_text(
        "tasks:\n  - id: in_sand\n    world: own.yaml\n    prompt: Lock.\n    init: {soil: {texture: sand}}\n"
        "    plan: [lock_safety_mode]\n"
    )
    Path("plain.yaml").write_text(Path("task.yaml").read_text().replace("init: {soil: {texture: sand}}", ""))
    Path("own.yaml").write_text("base: farm_rover\nvary: {soil.texture: {one_of: [sand]}}\n")
    run = ["run", "--agent", "oracle", "--db", "log.db"]
    assert main([*run, "--task", "water_one_plant", "--rig", "sim:farm_rover", "--init", "init.json"]) == 0
    assert main([*run, "--task", "task.yaml", "--rig", "sim:own.yaml"]) == 0
    assert main([*run, "--task", "plain.yaml", "--rig", "sim:own.yaml", "--vary"]) == 0
    with LogReader(Path("log.db")) as reader:
        for episode in reader.episodes():
            begun = next(row.state for row in reader.truth(episode.id) if row.call_id is None)
            sandy(FarmWorld.model_validate(begun["_initial"]))
            assert episode.scores["harm_events"] is not None, "the replay has the same soil"
        # 4.5 L in sand: what the roots cannot hold leaches, and the golden run does so too.
        (event,) = reader.harm(1)
        assert event.kind == "leaching" and event.severity > 1.0 and event.excess is False


def test_what_is_given_stays_when_a_texture_changes() -> None:
    Path("own.yaml").write_text("base: farm_rover\nsoil: {conductivity_mm_h: 50.0}\n")
    world = load_world("own.yaml")
    soil = merged_state(world, {"soil": {"texture": "clay"}}).soil  # type: ignore[attr-defined]
    assert (soil.conductivity_mm_h, soil.drainage_s) == (50.0, drainage_s(50.0))
    assert soil.field_capacity == TEXTURES["clay"].field_capacity


def test_the_state_that_is_printed_can_be_changed_and_given_back(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", "farm_rover", "--show-init"]) == 0
    printed = json.loads(capsys.readouterr().out)
    printed["soil"]["texture"] = "sand"
    sandy(merged_state(load_world("farm_rover"), printed))


def test_a_logged_state_without_a_list_of_derived_values_is_read_as_it_was() -> None:
    old = load_world("farm_rover").state.model_dump(mode="json")
    del old["soil"][DERIVED]
    old["soil"]["conductivity_mm_h"] = 4.0
    state = FarmWorld.model_validate(old)
    assert state.soil.conductivity_mm_h == 4.0 and state.soil.derived == ()
    sand = merge_world(state, {"soil": {"texture": "sand"}}).soil
    assert sand.conductivity_mm_h == 4.0, "as in the version that logged it"


def test_an_entry_may_be_called_derived() -> None:
    assert given({DERIVED: {"x": 1.0}, "x": 2.0}) == {DERIVED: {"x": 1.0}, "x": 2.0}
