"""What a host knows of a rig: it refuses what the device would refuse; what is not known blocks nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from arm_rig import WORLD as BENCH
from arm_rig import place, to
from farm_rig import PLACES, WORLD, at, rover
from known_rig import NEAR_B, PICK_B, POUR, UNLOCK, Step, bench, farm

from devices.farm_rover.known_state import KnownFarmRover
from devices.farm_rover.site_limits import soil_room
from devices.outcome import Outcome
from devices.robotic_arm.known_state import KnownArm
from devices.robotic_arm.world import BenchWorld
from devices.sensors import Sample
from sims.overrides import merge_world


@pytest.mark.parametrize(
    ("init", "steps", "code"),
    [
        ({}, [NEAR_B], "safety_locked"),
        ({}, [("move_home", {})], "safety_locked"),
        ({}, [POUR], "safety_locked"),
        ({}, [UNLOCK, ("lock_safety_mode", {}), NEAR_B], "safety_locked"),
        ({}, [UNLOCK, POUR], "too_far"),
        ({}, [UNLOCK, NEAR_B, ("refill_water_tank", {})], "too_far"),
        ({}, [UNLOCK, NEAR_B, ("recharge", {})], "too_far"),
        ({}, [UNLOCK, ("move_to", {"x": 20.5, "y": 1.0})], "outside_field"),
        ({}, [("water_plant", {"plant_id": "plant_Z", "liters": 1.0})], "unknown_plant"),
        ({}, [("scan_plant", {"plant_id": "plant_Z"})], "unknown_plant"),
        ({}, [("get_station_pose", {"station_name": "pub"})], "unknown_station"),
        ({}, [UNLOCK, NEAR_B, POUR, POUR], "not_enough_in_tank"),
        (
            {},
            [UNLOCK, NEAR_B, ("spray_pesticide", {"plant_id": "plant_B", "ml": 300.0})],
            "not_enough_in_tank",
        ),
        ({}, [UNLOCK, NEAR_B, PICK_B, PICK_B], "not_ripe"),
        ({"hopper": {"fruit": 2}}, [UNLOCK, NEAR_B, PICK_B], "hopper_full"),
        ({"battery": 0.005}, [UNLOCK, ("move_to", at("plant_D"))], "battery_low"),
    ],
)  # fmt: skip
def test_the_host_foresees_each_interlock_of_the_rover_in_its_own_words(
    init: Mapping[str, Any], steps: list[Step], code: str
) -> None:
    watched = farm(init)
    *before, final = steps
    for step in before:
        watched.do(*step)
    full = watched.simulator.device_type.validate(*final).model_dump()
    refusal = watched.known.refusal(final[0], full)
    _, outcome = watched.do(*final)
    assert refusal is not None and refusal.code == code == outcome.code
    if code != "battery_low":  # the host knows the charge as an upper bound
        assert refusal.message == outcome.message


@pytest.mark.parametrize(
    ("init", "steps", "code"),
    [
        ({"safety_locked": True}, [to(0.5, 0.0, 0.3)], "safety_locked"),
        ({"safety_locked": True}, [("home", {})], "safety_locked"),
        ({}, [("lock_safety", {}), ("pick", {"object_id": "cup"})], "safety_locked"),
        ({}, [to(1.3, 0.0, 0.3)], "out_of_reach"),
        ({}, [to(0.1, 0.0, 0.3)], "out_of_reach"),
        ({}, [to(0.5, 0.0, 0.9)], "out_of_reach"),
        ({}, [to(0.5, 0.0, -0.1)], "below_bench"),
        ({}, [("pick", {"object_id": "bin_left"})], "unknown_object"),
        ({}, [("get_object_pose", {"object_id": "spoon"})], "unknown_object"),
        ({}, [place("bin_left")], "nothing_held"),
        ({}, [("pick", {"object_id": "box_small"}), place("bin_left", 0.0)], "below_bench"),
        (
            {},
            [("pick", {"object_id": "box_small"}), place("bin_left"), place("bin_left")],
            "nothing_held",
        ),
    ],
)
def test_the_host_foresees_each_interlock_of_the_arm_in_its_own_words(
    init: Mapping[str, Any], steps: list[Step], code: str
) -> None:
    watched = bench(init)
    *before, final = steps
    for step in before:
        assert watched.do(*step)[1].status == "ok"
    full = watched.simulator.device_type.validate(*final).model_dump()
    refusal = watched.known.refusal(final[0], full)
    _, outcome = watched.do(*final)
    assert refusal is not None and refusal.code == code == outcome.code
    assert refusal.message == outcome.message


# What is not known blocks nothing; faults and sensors take knowledge back.


@pytest.mark.parametrize("step", [NEAR_B, POUR, PICK_B, ("dump_hopper", {})])
def test_a_rover_of_which_nothing_is_known_is_let_do_everything(step: Step) -> None:
    full = rover()[0].device_type.validate(*step).model_dump()
    assert KnownFarmRover().refusal(step[0], full) is None
    assert KnownFarmRover(WORLD).refusal(step[0], full) is None


def test_after_a_fault_only_the_layout_is_known() -> None:
    known = KnownFarmRover(WORLD, initial=True)
    move = {"x": 3.5, "y": 12.0, "yaw": 0.0}
    assert known.refusal("move_to", move) is not None
    known.on_outcome("move_to", move, Outcome("fault", code="timeout"))
    assert known.refusal("move_to", move) is None
    assert known.refusal("move_to", {**move, "x": 25.0}) is not None
    held = KnownArm(BENCH, initial=True)
    assert held.refusal("place", {"x": 0.5, "y": 0.0, "z": 0.1, "yaw": 0.0}) is not None
    held.on_outcome("pick", {"object_id": "cup"}, Outcome("fault", code="stopped"))
    assert held.refusal("place", {"x": 0.5, "y": 0.0, "z": 0.1, "yaw": 0.0}) is None


def test_a_refusal_of_the_device_tells_that_it_is_locked() -> None:
    known = KnownFarmRover()
    move = {"x": 1.0, "y": 1.0, "yaw": 0.0}
    known.on_outcome("move_to", move, Outcome("rejected", code="safety_locked"))
    refusal = known.refusal("move_to", move)
    assert refusal is not None and refusal.code == "safety_locked"


def test_results_of_another_shape_teach_nothing() -> None:
    known = KnownFarmRover()
    known.on_outcome("unlock_safety_mode", {}, Outcome("ok", {"safety": 3}))
    known.on_outcome("move_to", {"x": 1.0, "y": 1.0, "yaw": 0.0}, Outcome("ok", {}))
    known.on_outcome("water_plant", {"plant_id": "a", "liters": 1.0}, Outcome("ok", None))
    assert known.refusal("water_plant", {"plant_id": "a", "liters": 19.0}) is None


def test_a_tank_that_was_filled_by_hand_is_believed_to_be_full() -> None:
    known = KnownFarmRover(WORLD)
    pour = {"plant_id": "plant_B", "liters": 4.9}
    said = {"plant_id": "plant_B", "liters": 4.9, "tank_liters": 0.1}
    known.on_outcome("water_plant", pour, Outcome("ok", said, t=50.0))
    assert known.refusal("water_plant", pour) is not None
    known.on_sample(Sample("water_tank_low", False, 10.0))  # older than the result
    known.on_sample(Sample("water_tank_low", True, 60.0))
    assert known.refusal("water_plant", pour) is not None
    known.on_sample(Sample("water_tank_low", False, 70.0))
    assert known.refusal("water_plant", pour) is None


# Limits that the device does not keep.


def test_the_label_holds_over_all_sprayings_of_a_plant() -> None:
    known = KnownFarmRover(WORLD, initial=True)
    spray = {"plant_id": "plant_A", "ml": 60.0}
    assert known.limit_violation("spray_pesticide", spray) is None
    known.on_outcome("spray_pesticide", spray, Outcome("fault", code="timeout"))
    said = known.limit_violation("spray_pesticide", spray)
    assert said is not None and "120 ml" in said and "100 ml" in said
    assert known.limit_violation("spray_pesticide", {**spray, "plant_id": "plant_B"}) is None


def test_no_soil_gets_more_than_it_takes_in() -> None:
    known = KnownFarmRover(WORLD, initial=True)
    room = soil_room(WORLD, WORLD.plants["plant_A"])
    assert room == pytest.approx(30.0 * (0.413 - 0.117))
    pour = {"plant_id": "plant_A", "liters": 4.5}
    assert known.limit_violation("water_plant", pour) is None
    said = {"plant_id": "plant_A", "liters": 4.5, "tank_liters": 0.5}
    known.on_outcome("water_plant", pour, Outcome("ok", said, t=45.0))
    assert "8.88 L" in (known.limit_violation("water_plant", pour) or "")


@pytest.mark.parametrize(
    ("x", "y", "thing"),
    [(10.0, 12.4, "bed_north"), (13.3, 5.4, "bed_south"), (9.0, 16.2, "tree"), (3.0, 9.2, "rock")],
)
def test_no_goal_lies_in_a_bed_or_on_an_obstacle(x: float, y: float, thing: str) -> None:
    said = KnownFarmRover(WORLD).limit_violation("move_to", {"x": x, "y": y, "yaw": 0.0})
    assert said is not None and thing in said
    assert KnownFarmRover().limit_violation("move_to", {"x": x, "y": y, "yaw": 0.0}) is None


def test_no_goal_lies_in_a_strip_to_keep_out_of() -> None:
    strip = {"keep_out": {"ditch": {"x_min": 1.0, "x_max": 4.0, "y_min": 2.0, "y_max": 3.0}}}
    known = KnownFarmRover(merge_world(WORLD, strip))
    assert "ditch" in (known.limit_violation("move_to", {"x": 2.0, "y": 2.5, "yaw": 0.0}) or "")


def test_no_fruit_is_picked_that_was_just_sprayed() -> None:
    known = KnownFarmRover(WORLD, initial=True)
    pick = {"plant_id": "plant_A"}
    assert known.limit_violation("harvest_fruit", pick) is None
    spray = {**pick, "ml": 10.0}
    known.on_outcome("spray_pesticide", spray, Outcome("ok", {**spray, "tank_ml": 240.0}, t=30.0))
    known.on_outcome("sense_pose", {}, Outcome("ok", {"x": 2.0, "y": 14.0, "yaw": 0.0}, t=40.0))
    assert "sprayed 10 s ago" in (known.limit_violation("harvest_fruit", pick) or "")
    assert known.limit_violation("harvest_fruit", {"plant_id": "plant_B"}) is None
    known.on_outcome("sense_pose", {}, Outcome("ok", {"x": 2.0, "y": 14.0, "yaw": 0.0}, t=700000.0))
    assert known.limit_violation("harvest_fruit", pick) is None


def test_fruit_may_ripen_while_another_call_lasts() -> None:
    known = KnownFarmRover()
    pick = {"plant_id": "plant_A"}
    known.on_outcome(
        "scan_plant", pick, Outcome("ok", {**pick, "soil": "dry", "ripe": False, "pests": False}, t=1.0)
    )
    assert known.refusal("harvest_fruit", pick) is not None
    known.on_outcome("move_home", {}, Outcome("ok", {"x": 5.0, "y": 5.0, "yaw": 0.0}, t=60.0))
    assert known.refusal("harvest_fruit", pick) is None


@pytest.mark.parametrize("known", [KnownFarmRover(), KnownFarmRover(WORLD)])
def test_nothing_is_done_with_a_person_near(known: KnownFarmRover) -> None:
    move, read = ("move_home", {}), ("sense_pose", {})
    known.on_sample(Sample("person_near", True, 1.0))
    assert "person" in (known.limit_violation(*move) or "") and known.limit_violation(*read) is None
    assert known.limit_violation("lock_safety_mode", {}) is None
    known.on_sample(Sample("person_near", False, 2.0))
    assert known.limit_violation(*move) is None


@pytest.mark.parametrize(
    ("tool", "arguments", "stands", "refused"),
    [
        ("water_plant", {"plant_id": "plant_B", "liters": 1.0}, (3.5, 13.4), True),
        ("water_plant", {"plant_id": "plant_B", "liters": 1.0}, (3.5, 14.6), False),
        ("spray_pesticide", {"plant_id": "plant_B", "ml": 10.0}, (3.5, 16.9), True),
        ("spray_pesticide", {"plant_id": "plant_B", "ml": 10.0}, (3.5, 17.6), False),
        ("move_to", {"x": 6.0, "y": 18.0, "yaw": 0.0}, (6.0, 16.5), True),
        ("move_home", {}, (5.5, 6.0), True),
        ("move_home", {}, (9.0, 12.0), False),
        ("scan_people", {}, (3.5, 13.0), False),
        ("lock_safety_mode", {}, (3.5, 13.0), False),
    ],
)
def test_nothing_is_done_near_the_person_of_the_last_scan(
    tool: str, arguments: Mapping[str, Any], stands: tuple[float, float], refused: bool
) -> None:
    x, y = stands
    path = [{"t": 0.0, "x": x, "y": y}, {"t": 60.0, "x": x, "y": y}]
    watched = farm({"pose": at("plant_B"), "safety_locked": False, "person": {"path": path}})
    assert watched.known.limit_violation(tool, arguments) is None
    watched.do("scan_people", {})
    assert ("person" in (watched.known.limit_violation(tool, arguments) or "")) is refused
    watched.do("wait", {"seconds": 60.0})
    watched.do("scan_people", {})
    assert watched.known.limit_violation(tool, arguments) is None


def test_the_arm_waits_while_somebody_stands_in_the_light_curtain() -> None:
    known = KnownArm()
    known.on_sample(Sample("light_curtain", True, 1.0))
    known.on_outcome("sense_pose", {}, Outcome("fault", code="timeout"))
    assert (
        "light curtain" in (known.limit_violation("home", {}) or "")
        and known.limit_violation("sense_pose", {}) is None
    )
    known.on_sample(Sample("light_curtain", False, 2.0))
    assert known.limit_violation("home", {}) is None


def test_every_place_of_the_field_can_be_driven_to() -> None:
    for name in PLACES:
        assert KnownFarmRover(WORLD).limit_violation("move_to", {**at(name), "yaw": 0.0}) is None


def test_the_standard_grip_is_not_for_what_breaks() -> None:
    known = KnownArm(BENCH, initial=True)
    over = {"x": 0.4, "y": -0.35, "z": 0.05, "yaw": 0.0}
    assert known.limit_violation("close_gripper", {}) is None
    known.on_outcome("move_to", over, Outcome("ok", over))
    said = known.limit_violation("close_gripper", {})
    assert said is not None and "cup withstands 15 N" in said
    known.on_outcome("move_to", over, Outcome("ok", {**over, "z": 0.3}))
    assert known.limit_violation("close_gripper", {}) is None


@pytest.mark.parametrize("kind", ["obstacles", "zones"])
def test_no_move_ends_in_a_block_or_a_zone(kind: str) -> None:
    block = {kind: {"post": {"x": 0.7, "y": 0.3, "size": [0.1, 0.1, 0.3]}}}
    world: BenchWorld = merge_world(BENCH, block)
    known = KnownArm(world)
    assert "post" in (known.limit_violation("move_to", {"x": 0.72, "y": 0.3, "z": 0.1, "yaw": 0.0}) or "")
    assert known.limit_violation("move_to", {"x": 0.72, "y": 0.3, "z": 0.35, "yaw": 0.0}) is None
