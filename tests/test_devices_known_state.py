"""What a host knows of a rig: it refuses what the device would refuse, and never what the device accepts."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from threading import Event
from typing import Any

import pytest
from arm_rig import WORLD as BENCH
from arm_rig import arm, place, to
from farm_rig import PLACES, WORLD, at, rover
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devices.farm_rover.known_state import PLACES as STATION_TOOLS
from devices.farm_rover.known_state import KnownFarmRover
from devices.farm_rover.site_limits import soil_room
from devices.known_state import KnownState
from devices.outcome import Outcome
from devices.robotic_arm.known_state import KnownArm
from devices.robotic_arm.world import BenchWorld
from devices.sensors import Sample
from sims.overrides import merge_world
from sims.simulator import Simulator

Step = tuple[str, Mapping[str, Any]]

UNLOCK: Step = ("unlock_safety_mode", {})
NEAR_B: Step = ("move_to", {"x": 3.5, "y": 12.0})


class Watched:
    """A simulator, and beside it what a host knows of it: every call is asked about before it is made."""

    def __init__(self, simulator: Simulator[Any], known: KnownState, samples: list[Sample]) -> None:
        self.simulator, self.known, self.samples = simulator, known, samples
        self.foreseen = self.rejected = 0

    def do(self, tool: str, arguments: Mapping[str, Any]) -> tuple[str | None, Outcome]:
        """The code that the host foresees, and what the device says."""
        full = self.simulator.device_type.validate(tool, arguments).model_dump()
        refusal = self.known.refusal(tool, full)
        outcome = self.simulator.execute(tool, arguments, Event())
        if refusal is not None:
            assert outcome.status == "rejected", (tool, arguments, refusal.message, outcome)
        self.rejected += outcome.status == "rejected"
        self.foreseen += refusal is not None
        self.known.learned(tool, full, outcome)
        for sample in self.samples:
            self.known.sampled(sample)
        self.samples.clear()
        return None if refusal is None else refusal.code, outcome


def farm(init: Mapping[str, Any] | None = None) -> Watched:
    simulator, samples = rover(init)
    world = merge_world(WORLD, init or {})
    return Watched(simulator, KnownFarmRover(world, initial=True), samples)


def bench(init: Mapping[str, Any] | None = None) -> Watched:
    simulator, samples = arm(init)
    world = merge_world(BENCH, {"safety_locked": False, **(init or {})})
    return Watched(simulator, KnownArm(world, initial=True), samples)


def last(watched: Watched, *steps: Step) -> tuple[str | None, Outcome]:
    *before, final = steps
    for tool, arguments in before:
        _, outcome = watched.do(tool, arguments)
        assert outcome.status == "ok", (tool, outcome)
    return watched.do(*final)


PICK_B: Step = ("harvest_fruit", {"plant_id": "plant_B"})
POUR: Step = ("water_plant", {"plant_id": "plant_B", "liters": 4.0})


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


# Never a false block, whatever the sequence.

NAMES = st.sampled_from([*WORLD.plants, "plant_Z"])
SPOTS = st.one_of(
    st.sampled_from(sorted(PLACES)).map(at),
    st.fixed_dictionaries({"x": st.floats(-1.0, 21.0), "y": st.floats(-1.0, 21.0)}),
)
PLAIN = [tool.name for tool in rover()[0].device_type.tools if not tool.arguments.model_fields]
FARM_CALLS = st.one_of(
    st.sampled_from([(name, {}) for name in PLAIN]),
    st.just(UNLOCK),
    SPOTS.map(lambda spot: ("move_to", spot)),
    st.tuples(NAMES, st.floats(0.01, 6.0)).map(
        lambda dose: ("water_plant", {"plant_id": dose[0], "liters": dose[1]})
    ),
    st.tuples(NAMES, st.floats(0.01, 260.0)).map(
        lambda dose: ("spray_pesticide", {"plant_id": dose[0], "ml": dose[1]})
    ),
    st.tuples(st.sampled_from(["harvest_fruit", "scan_plant", "get_plant_pose"]), NAMES).map(
        lambda call: (call[0], {"plant_id": call[1]})
    ),
)  # fmt: skip
AT_STATION = {station: tool for tool, station in STATION_TOOLS.items()}
EDGES = st.sampled_from([0.0, 0.5, 0.9996, 0.9999, 1.0, 1.0001, 1.0004, 1.0008, 1.002])
"""How far from a place to stop, m: most as near to the edge of reach as rounding can tell."""


DOSES = st.one_of(st.sampled_from([0.5, 1.0, 2.5, 4.5, 5.0]), st.floats(0.01, 5.0))
"""Litres, of which the round ones often empty the tank to the drop."""


@st.composite
def visits(draw: st.DrawFn) -> list[Step]:
    """A drive to near a place, and calls most of which mean that place."""
    name, far, ahead = draw(st.sampled_from(sorted(PLACES))), draw(EDGES), draw(st.floats(0.0, 6.2))
    spot = {"x": PLACES[name].x + far * math.cos(ahead), "y": PLACES[name].y + far * math.sin(ahead)}
    if name in AT_STATION:
        here: list[Step] = [(AT_STATION[name], {})]
    else:
        here = [
            ("water_plant", {"plant_id": name, "liters": draw(DOSES)}),
            ("spray_pesticide", {"plant_id": name, "ml": 50.0 * draw(DOSES)}),
            ("harvest_fruit", {"plant_id": name}),
            ("scan_plant", {"plant_id": name}),
        ]
    calls = st.lists(st.one_of(st.sampled_from(here), FARM_CALLS), min_size=1, max_size=3)
    return [("move_to", spot), *draw(calls)]


VISITS = visits()
FARM_FAULTS = [
    {"kind": "wheel_slip", "at": 0.0, "strength": 0.4},
    {"kind": "clogged_nozzle", "at": 5.0, "strength": 0.7},
    {"kind": "stuck_valve", "at": 0.0, "strength": 0.5},
    {"kind": "reset", "at": 20.0},
    {"kind": "stuck_sensor", "at": 0.0, "entity": "water_tank_low"},
]
FARM_INITS = st.fixed_dictionaries(
    {},
    optional={
        "safety_locked": st.booleans(),
        "battery": st.one_of(st.floats(0.0, 1.0), st.floats(0.0, 0.03)),
        "water_tank": st.fixed_dictionaries({"liters": st.floats(0.0, 5.0)}),
        "hopper": st.fixed_dictionaries({"fruit": st.integers(0, 2)}),
        "hidden": st.sampled_from([{}, {"slip": 0.3}, {"slip": 0.1, "draw": 1.5}]),
        "faults": st.sampled_from([{}, *({"schedule": [fault]} for fault in FARM_FAULTS)]),
        "plants": st.sampled_from([{}, {"plant_B": {"ripe": False, "ripens_at_s": 60.0}}]),
    },
)


@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(FARM_INITS, st.lists(VISITS, min_size=2, max_size=8), st.booleans())
def test_the_host_never_refuses_what_the_simulated_rover_accepts(
    init: Mapping[str, Any], visits: list[list[Step]], initial: bool
) -> None:
    simulator, samples = rover(init)
    known = KnownFarmRover(merge_world(WORLD, init), initial=initial)
    watched = Watched(simulator, known, samples)
    for visit in [[UNLOCK], *visits]:
        for step in visit:
            watched.do(*step)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.lists(FARM_CALLS, max_size=20))
def test_nor_where_it_knows_no_layout(steps: list[Step]) -> None:
    simulator, samples = rover({"safety_locked": False})
    watched = Watched(simulator, KnownFarmRover(), samples)
    for step in steps:
        watched.do(*step)


THINGS = st.sampled_from([*BENCH.objects, "bin_left", "spoon"])
BENCH_CALLS = st.one_of(
    THINGS.map(lambda name: ("pick", {"object_id": name})),
    THINGS.map(lambda name: ("get_object_pose", {"object_id": name})),
    st.sampled_from(
        [
            place("bin_left"),
            place("bin_right"),
            place("bin_left", 0.0),
            place("bin_left", 0.3),
            to(0.5, 0.2, 0.1),
            to(0.4, -0.35, 0.05),
            to(0.5, 0.0, 0.9),
            to(1.2, 0.0, 0.3),
            ("open_gripper", {}),
            ("close_gripper", {}),
            ("sense_gripper", {}),
            ("sense_pose", {}),
            ("home", {}),
            ("lock_safety", {}),
            ("unlock_safety", {}),
        ]
    ),
)


BENCH_INITS = st.sampled_from(
    [
        {},
        {"gripper": "closed"},
        {"faults": {"schedule": [{"kind": "weak_gripper", "at": 0.0, "strength": 0.95}]}},
        {"faults": {"schedule": [{"kind": "reset", "at": 3.0}]}},
    ]
)


@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(BENCH_INITS, st.lists(BENCH_CALLS, min_size=2, max_size=7), st.booleans())
def test_the_host_never_refuses_what_the_simulated_arm_accepts(
    init: Mapping[str, Any], steps: list[Step], initial: bool
) -> None:
    simulator, samples = arm(init)
    world = merge_world(BENCH, {"safety_locked": False, **init})
    watched = Watched(simulator, KnownArm(world, initial=initial), samples)
    for step in steps:
        watched.do(*step)


@pytest.mark.parametrize("seed", range(6))
def test_nor_on_a_long_walk_on_which_tanks_and_battery_run_out(seed: int) -> None:
    chance = random.Random(seed)
    init = {"battery": chance.uniform(0.02, 0.2), "hidden": {"slip": 0.05 * (seed % 2)}}
    watched = farm(init)
    watched.do(*UNLOCK)
    for _ in range(60):
        name = chance.choice(sorted(PLACES))
        watched.do("move_to", at(name))
        if name in AT_STATION:
            watched.do(AT_STATION[name], {})
            continue
        for _ in range(2):
            dose = chance.choice([0.5, 1.0, 2.5])
            watched.do("water_plant", {"plant_id": name, "liters": dose})
            watched.do("spray_pesticide", {"plant_id": name, "ml": 50.0 * dose})
        watched.do("harvest_fruit", {"plant_id": name})
    assert 0 < watched.foreseen <= watched.rejected


def test_a_pose_that_is_told_in_whole_millimetres_never_counts_against_the_rover() -> None:
    watched = farm()
    watched.do(*UNLOCK)
    plant = PLACES["plant_B"]
    for k in range(40):
        ahead = 0.1567 * k
        spot = {"x": plant.x + 0.999999 * math.cos(ahead), "y": plant.y + 0.999999 * math.sin(ahead)}
        watched.do("move_to", spot)
        _, outcome = watched.do("water_plant", {"plant_id": "plant_B", "liters": 0.001})
        assert outcome.status == "ok"


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
    known.learned("move_to", move, Outcome("fault", code="timeout"))
    assert known.refusal("move_to", move) is None
    assert known.refusal("move_to", {**move, "x": 25.0}) is not None
    held = KnownArm(BENCH, initial=True)
    assert held.refusal("place", {"x": 0.5, "y": 0.0, "z": 0.1, "yaw": 0.0}) is not None
    held.learned("pick", {"object_id": "cup"}, Outcome("fault", code="stopped"))
    assert held.refusal("place", {"x": 0.5, "y": 0.0, "z": 0.1, "yaw": 0.0}) is None


def test_a_refusal_of_the_device_tells_that_it_is_locked() -> None:
    known = KnownFarmRover()
    move = {"x": 1.0, "y": 1.0, "yaw": 0.0}
    known.learned("move_to", move, Outcome("rejected", code="safety_locked"))
    refusal = known.refusal("move_to", move)
    assert refusal is not None and refusal.code == "safety_locked"


def test_results_of_another_shape_teach_nothing() -> None:
    known = KnownFarmRover()
    known.learned("unlock_safety_mode", {}, Outcome("ok", {"safety": 3}))
    known.learned("move_to", {"x": 1.0, "y": 1.0, "yaw": 0.0}, Outcome("ok", {}))
    known.learned("water_plant", {"plant_id": "a", "liters": 1.0}, Outcome("ok", None))
    assert known.refusal("water_plant", {"plant_id": "a", "liters": 19.0}) is None


def test_a_tank_that_was_filled_by_hand_is_believed_to_be_full() -> None:
    known = KnownFarmRover(WORLD)
    pour = {"plant_id": "plant_B", "liters": 4.9}
    said = {"plant_id": "plant_B", "liters": 4.9, "tank_liters": 0.1}
    known.learned("water_plant", pour, Outcome("ok", said, t=50.0))
    assert known.refusal("water_plant", pour) is not None
    known.sampled(Sample("water_tank_low", False, 10.0))  # older than the result
    known.sampled(Sample("water_tank_low", True, 60.0))
    assert known.refusal("water_plant", pour) is not None
    known.sampled(Sample("water_tank_low", False, 70.0))
    assert known.refusal("water_plant", pour) is None


# Limits that the device does not keep.


def test_the_label_holds_over_all_sprayings_of_a_plant() -> None:
    known = KnownFarmRover(WORLD, initial=True)
    spray = {"plant_id": "plant_A", "ml": 60.0}
    assert known.beyond("spray_pesticide", spray) is None
    known.learned("spray_pesticide", spray, Outcome("fault", code="timeout"))
    said = known.beyond("spray_pesticide", spray)
    assert said is not None and "120 ml" in said and "100 ml" in said
    assert known.beyond("spray_pesticide", {**spray, "plant_id": "plant_B"}) is None


def test_no_soil_gets_more_than_it_takes_in() -> None:
    known = KnownFarmRover(WORLD, initial=True)
    room = soil_room(WORLD, WORLD.plants["plant_A"])
    assert room == pytest.approx(6.9)
    pour = {"plant_id": "plant_A", "liters": 4.5}
    assert known.beyond("water_plant", pour) is None
    said = {"plant_id": "plant_A", "liters": 4.5, "tank_liters": 0.5}
    known.learned("water_plant", pour, Outcome("ok", said, t=45.0))
    assert "6.9 L" in (known.beyond("water_plant", pour) or "")


@pytest.mark.parametrize(
    ("x", "y", "thing"),
    [(10.0, 12.4, "bed_north"), (13.3, 5.4, "bed_south"), (9.0, 16.2, "tree"), (3.0, 9.2, "rock")],
)
def test_no_goal_lies_in_a_bed_or_on_an_obstacle(x: float, y: float, thing: str) -> None:
    said = KnownFarmRover(WORLD).beyond("move_to", {"x": x, "y": y, "yaw": 0.0})
    assert said is not None and thing in said
    assert KnownFarmRover().beyond("move_to", {"x": x, "y": y, "yaw": 0.0}) is None


def test_no_goal_lies_in_a_strip_to_keep_out_of() -> None:
    strip = {"keep_out": {"ditch": {"x_min": 1.0, "x_max": 4.0, "y_min": 2.0, "y_max": 3.0}}}
    known = KnownFarmRover(merge_world(WORLD, strip))
    assert "ditch" in (known.beyond("move_to", {"x": 2.0, "y": 2.5, "yaw": 0.0}) or "")


def test_no_fruit_is_picked_that_was_just_sprayed() -> None:
    known = KnownFarmRover(WORLD, initial=True)
    pick = {"plant_id": "plant_A"}
    assert known.beyond("harvest_fruit", pick) is None
    spray = {**pick, "ml": 10.0}
    known.learned("spray_pesticide", spray, Outcome("ok", {**spray, "tank_ml": 240.0}, t=30.0))
    known.learned("sense_pose", {}, Outcome("ok", {"x": 2.0, "y": 14.0, "yaw": 0.0}, t=40.0))
    assert "sprayed 10 s ago" in (known.beyond("harvest_fruit", pick) or "")
    assert known.beyond("harvest_fruit", {"plant_id": "plant_B"}) is None
    known.learned("sense_pose", {}, Outcome("ok", {"x": 2.0, "y": 14.0, "yaw": 0.0}, t=700000.0))
    assert known.beyond("harvest_fruit", pick) is None


def test_fruit_may_ripen_while_another_call_lasts() -> None:
    known = KnownFarmRover()
    pick = {"plant_id": "plant_A"}
    known.learned(
        "scan_plant", pick, Outcome("ok", {**pick, "soil": "dry", "ripe": False, "pests": False}, t=1.0)
    )
    assert known.refusal("harvest_fruit", pick) is not None
    known.learned("move_home", {}, Outcome("ok", {"x": 5.0, "y": 5.0, "yaw": 0.0}, t=60.0))
    assert known.refusal("harvest_fruit", pick) is None


@pytest.mark.parametrize("known", [KnownFarmRover(), KnownFarmRover(WORLD)])
def test_nothing_is_done_with_a_person_near(known: KnownFarmRover) -> None:
    move, read = ("move_home", {}), ("sense_pose", {})
    known.sampled(Sample("person_near", True, 1.0))
    assert "person" in (known.beyond(*move) or "") and known.beyond(*read) is None
    assert known.beyond("lock_safety_mode", {}) is None
    known.sampled(Sample("person_near", False, 2.0))
    assert known.beyond(*move) is None


def test_the_arm_waits_while_somebody_stands_in_the_light_curtain() -> None:
    known = KnownArm()
    known.sampled(Sample("light_curtain", True, 1.0))
    known.learned("sense_pose", {}, Outcome("fault", code="timeout"))
    assert "light curtain" in (known.beyond("home", {}) or "") and known.beyond("sense_pose", {}) is None
    known.sampled(Sample("light_curtain", False, 2.0))
    assert known.beyond("home", {}) is None


def test_every_place_of_the_field_can_be_driven_to() -> None:
    for name in PLACES:
        assert KnownFarmRover(WORLD).beyond("move_to", {**at(name), "yaw": 0.0}) is None


def test_the_standard_grip_is_not_for_what_breaks() -> None:
    known = KnownArm(BENCH, initial=True)
    over = {"x": 0.4, "y": -0.35, "z": 0.05, "yaw": 0.0}
    assert known.beyond("close_gripper", {}) is None
    known.learned("move_to", over, Outcome("ok", over))
    said = known.beyond("close_gripper", {})
    assert said is not None and "cup bears 15 N" in said
    known.learned("move_to", over, Outcome("ok", {**over, "z": 0.3}))
    assert known.beyond("close_gripper", {}) is None


@pytest.mark.parametrize("kind", ["obstacles", "zones"])
def test_no_move_ends_in_a_block_or_a_zone(kind: str) -> None:
    block = {kind: {"post": {"x": 0.7, "y": 0.3, "size": [0.1, 0.1, 0.3]}}}
    world: BenchWorld = merge_world(BENCH, block)
    known = KnownArm(world)
    assert "post" in (known.beyond("move_to", {"x": 0.72, "y": 0.3, "z": 0.1, "yaw": 0.0}) or "")
    assert known.beyond("move_to", {"x": 0.72, "y": 0.3, "z": 0.35, "yaw": 0.0}) is None
