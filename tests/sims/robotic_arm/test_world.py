import math

import pytest
from arm_rig import WORLD, arm
from pydantic import ValidationError

from devices.arm.things import GRIP_HEIGHT
from devices.robotic_arm.world import BenchWorld
from sims.overrides import WorldError, deep_merge, merge_world


def test_the_shipped_bench_has_its_objects_and_bins_in_reach():
    assert set(WORLD.objects) == {"box_small", "box_large", "panel_X", "cup"}
    assert set(WORLD.bins) == {"bin_left", "bin_right"}
    for thing in (*WORLD.objects.values(), *WORLD.bins.values()):
        assert WORLD.arm.inner_reach < (thing.x**2 + thing.y**2) ** 0.5 < WORLD.arm.reach


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"colour": 1}, "colour: unknown key"),
        ({"objects": {"cup": {"wheels": 4}}}, "objects.cup.wheels: unknown key"),
        ({"objects": {"cup": {"mass": -1.0}}}, "objects.cup.mass"),
        ({"objects": {"spoon": {"x": 0.3}}}, "objects.spoon.y"),
        ({"objects": {"cup": {"x": 0.5, "y": 0.22}}}, "box_small stands in cup"),
        ({"objects": {"cup": {"x": 0.22, "y": 0.6}}}, "cup stands in bin_left"),
        ({"objects": {"cup": {"x": 0.05, "y": 0.0}}}, "cup stands in the arm's column"),
        ({"objects": {"box_large": {"size": [0.1, 0.13, 0.08]}}}, "too wide"),
        ({"bins": {"bin_left": {"z": 0.0}}}, "bins.bin_left"),
        ({"home": {"x": 1.3}}, "home: out of the arm's reach"),
        ({"sensors": {"camera": {"kind": "switch"}}}, "sensors.camera"),
    ],
)
def test_a_bad_initial_state_is_refused_by_name(overrides, words):
    with pytest.raises(WorldError) as error:
        merge_world(WORLD, overrides)
    assert words in str(error.value)
    assert "\n" not in str(error.value)
    outcome = arm()[0].init(overrides, 0)
    assert (outcome.status, outcome.code) == ("invalid", "bad_state")
    assert words in outcome.message


def test_things_that_touch_do_not_overlap():
    cup = WORLD.objects["cup"]
    box = WORLD.objects["box_small"]
    beside = {"x": box.x, "y": box.y + box.size[1] / 2 + cup.size[0] / 2}
    assert merge_world(WORLD, {"objects": {"cup": beside}})
    with pytest.raises(WorldError, match="stands in"):
        merge_world(WORLD, {"objects": {"cup": {**beside, "y": beside["y"] - 0.002}}})


def test_turned_boxes_are_told_apart_by_their_real_outline():
    box = WORLD.objects["box_large"]
    in_front = {"x": box.x + 0.085, "y": box.y, "yaw": 0.0}
    assert merge_world(WORLD, {"objects": {"box_small": in_front}})
    with pytest.raises(WorldError, match="stands in"):
        corner_first = {"yaw": math.atan2(box.size[1], box.size[0])}
        merge_world(WORLD, {"objects": {"box_small": in_front, "box_large": corner_first}})


def test_a_null_takes_an_object_away_and_a_z_too_low_means_standing():
    simulator, _ = arm({"objects": {"cup": None, "box_small": {"z": 0.0}}})
    assert "cup" not in simulator.state_dict()["objects"]
    assert simulator.state_dict()["objects"]["box_small"]["z"] == pytest.approx(GRIP_HEIGHT, abs=1e-4)


def test_a_world_survives_its_own_dump():
    assert BenchWorld.model_validate(WORLD.model_dump()) == WORLD
    assert BenchWorld.model_validate_json(WORLD.model_dump_json()) == WORLD


def test_names_are_unique_over_objects_and_bins():
    twin = WORLD.objects["cup"].model_dump() | {"x": -0.5}
    with pytest.raises(ValidationError, match="different names"):
        BenchWorld.model_validate(deep_merge(WORLD.model_dump(), {"objects": {"bin_left": twin}}))
