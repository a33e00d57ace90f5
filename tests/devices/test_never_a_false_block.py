"""Whatever the sequence of calls, the host never refuses what the device accepts."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import pytest
from arm_rig import WORLD as BENCH
from arm_rig import arm, place, to
from farm_rig import PLACES, WORLD, at, rover
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from known_rig import UNLOCK, Step, Watched, farm

from devices.farm_rover.interlocks import STATION_OF as STATION_TOOLS
from devices.farm_rover.known_state import KnownFarmRover
from devices.robotic_arm.known_state import KnownArm
from sims.overrides import merge_world

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


@pytest.mark.slow
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


@pytest.mark.slow
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
