"""Every field of every world: another value of it comes by every door, and an episode shows it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import yaml
from arm_danger import bench_danger, table_danger
from paths import ROOT
from rules_100hz_farm import farm_danger
from world_fields import OF_ALL_WORLDS, Calls, Place, episodes, known_values, others, places, shown, starts_of

from configs.errors import ConfigError
from configs.tasks_loader import list_tasks
from configs.variation import draw_state
from configs.worlds_loader import World, load_world, make_simulator, merged_state
from devices.faults import OUT_OF_ORDER
from devices.models import DERIVED
from sims.overrides import merge_world, stack_overrides
from sims.simulator import Simulator
from sims.world_type import WORLD_TYPES

PLAYED = 30
"""Episodes that are played."""
NOTHING = {"prompt": "Do nothing.", "answer": "nothing"}
"""What else a task has."""
SMALLEST = "computations"
"""A world of few fields."""
TRIED = 8
"""Other values of a field that are tried in episodes."""
SENSORS = ROOT / "configs" / "sensors"
FARM = {
    "rover": {
        "water_pump": {
            "shutoff_head_m": 3.0,
            "lift_m": 0.5,
            "tank_height_m": 0.3,
            "full_v": 12.6,
            "empty_v": 10.5,
        }
    },
    "rain": [{"at": 20.0, "seconds": 600.0, "mm": 40.0}],
    "person": {"path": [{"t": 5.0, "x": 3.0, "y": 12.0}, {"t": 90.0, "x": 5.0, "y": 12.5}]},
    "keep_out": {"strip": {"x_min": 4.2, "x_max": 5.0, "y_min": 13.5, "y_max": 20.0}},
    "wet_ground": {"hollow": {"x_min": 4.5, "x_max": 7.5, "y_min": 4.5, "y_max": 9.0, "moisture": 0.4}},
    "plants": {"plant_B": {"sprayed_s_ago": 100.0, "ripens_at_s": 40.0, "ripe": False, "wilts_at_s": 30.0}},
    "sensors": {"position": {"kind": "quantised", "resolution": 0.5, "period": 2.0}},
}
BENCH = {
    "obstacles": {"post": {"x": 0.6, "y": 0.45, "size": [0.05, 0.05, 0.3]}},
    "light_curtain": [{"at": 2.0, "seconds": 3.0}],
}
TABLE = {
    "obstacles": {"post": {"x": 0.24, "y": -0.13, "size": [0.03, 0.03, 0.2]}},
    "light_curtain": [{"at": 2.0, "seconds": 3.0}],
    "hands": ["post"],
    "sensors": {"joint_load": {"kind": "quantised", "resolution": 0.05, "period": 0.5}},
}
RICH: Mapping[str, tuple[Mapping[str, Any], Any]] = {
    "farm_rover": (FARM, [farm_danger]),
    "robotic_arm": (BENCH, [bench_danger]),
    "so101_bench": (TABLE, [table_danger]),
}
"""What the states of these worlds have besides, so that no field is left out, and dangerous starts."""
WITHOUT_EFFECT: Mapping[str, str] = {}
"""Fields that no episode can show, with the reason."""


def start_of(name: str) -> dict[str, Any]:
    """Overrides by which every field that may be left out is there."""
    world, start = load_world(name), dict(RICH.get(name, ({}, None))[0])
    finer = SENSORS / f"{name}.yaml"
    if finer.is_file():
        start = stack_overrides({"sensors": yaml.safe_load(finer.read_text())["sensors"]}, start)
    (kind, *_) = world.type.faults
    fault = {"kind": kind.name, "strength": 0.4}
    if kind.name == OUT_OF_ORDER:
        fault["entity"] = world.device.tools[-1].name
    rate = {**fault, "strength": [0.2, 0.7], "per_hour": 300.0}
    return {**start, "faults": {"schedule": [{**fault, "at": 3.0, "seconds": 20.0}], "random": [rate]}}


def rich(name: str) -> World:
    """The world with that start."""
    world = load_world(name)
    return replace(world, state=merged_state(world, start_of(name)))


def accepted(
    world: World, place: Place, known: Mapping[str, Any]
) -> Iterator[tuple[Any, dict[str, Any], Any]]:
    """Yield other values of a field that the world accepts, the override, and the state with it."""
    for value in others(place, known):
        overrides = place.override(value)
        try:
            merged = merged_state(world, overrides)
        except ConfigError:
            continue
        if merged != world.state:
            yield value, overrides, merged


def flat(state: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    if isinstance(state, dict) and state:
        return {key: one for name, part in state.items() for key, one in flat(part, (*path, name)).items()}
    return {path: state}


def derived_in(state: Any, path: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    if not isinstance(state, dict):
        return set()
    own = {(*path, name) for name in (*state.get(DERIVED, ()), *([DERIVED] * (DERIVED in state)))}
    return own.union(*(derived_in(part, (*path, name)) for name, part in state.items()))


@pytest.mark.slow
@pytest.mark.parametrize("every", [10, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", sorted(WORLD_TYPES))
def test_another_value_comes_by_every_door_and_changes_what_it_names(
    name: str, every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each field is overridden by day; by the doors of files come all by night, and every tenth by day."""
    monkeypatch.chdir(tmp_path)
    world, start = rich(name), start_of(name)
    before = world.state.model_dump(mode="json")
    known = known_values(world, starts_of(world))
    tasks, ranges, expected = [], {}, []
    own = tmp_path / "own.yaml"
    number = -1
    for place in places(world.state):
        if (found := next(accepted(world, place, known), None)) is None:
            continue
        number += 1
        value, overrides, merged = found
        was, now = flat(before), flat(merged.model_dump(mode="json"))
        changed = {key for key in was.keys() | now.keys() if was.get(key, ...) != now.get(key, ...)}
        named = place.path if place.inside is None else place.inside[0]
        rest = {key for key in changed if key[: len(named)] != named}
        assert rest != changed, f"{place.path} is not changed"
        assert rest <= derived_in(before) | derived_in(merged.model_dump()), f"{place.path} changes {rest}"
        # A dump is read as it was written, and takes overrides as the state did.
        again = type(world.state).model_validate(before)
        assert again == world.state and merge_world(again, overrides) == merged
        if number % every:
            continue
        own.write_text(yaml.safe_dump({"base": name, **stack_overrides(start, overrides)}))
        assert load_world(str(own)).state == merged, f"{place.path} by a world file"
        tasks.append({"id": f"t{len(tasks)}", "world": "rich.yaml", "init": overrides, **NOTHING})
        expected.append((place, merged))
        if place.inside is None and isinstance(value, bool | int | float | str) and not dotted(place.path):
            ranges[".".join(place.path)] = (value, overrides)
    vary = {key: {"one_of": [value]} for key, (value, _) in ranges.items()}
    (tmp_path / "rich.yaml").write_text(yaml.safe_dump({"base": name, **start, "vary": vary}))
    (tmp_path / "tasks.yaml").write_text(yaml.safe_dump({"tasks": tasks}))
    loaded = load_world(str(tmp_path / "rich.yaml"))
    for key, (_, overrides) in ranges.items():
        drawn = draw_state({key: loaded.vary[key]}, loaded.state.model_dump(), "0")
        assert drawn == overrides, f"{key} by vary"
    for task, (place, merged) in zip(list_tasks(tmp_path / "tasks.yaml"), expected, strict=True):
        assert task.world is not None and merged_state(task.world, task.init) == merged, place.path


def dotted(path: tuple[str, ...]) -> bool:
    return any("." in part for part in path)


PARTS_OF_ALL = [part.__name__ for part in OF_ALL_WORLDS]


def unseen(name: str, simulator: Simulator[Any], most: int = PLAYED) -> list[str]:
    """The fields of which no other value shows in episodes of a simulator, but those that refuse any."""
    world = rich(name)
    known = known_values(world, starts_of(world))
    usual: dict[int, Any] = {}
    played = list(islice(episodes(world, RICH.get(name, ({}, []))[1]), most))
    hidden, refused = set(), set()
    shown_ones = set(WITHOUT_EFFECT)
    for place in places(world.state):
        elsewhere = name != "farm_rover" and place.general.split(".")[0] in PARTS_OF_ALL
        if place.general in shown_ones or elsewhere:
            continue
        refused.add(place.general)
        for _, overrides, _ in islice(accepted(world, place, known), TRIED):
            refused.discard(place.general)
            for k, (init, calls) in enumerate(played):
                if k not in usual:
                    usual[k] = shown(simulator, init, calls)
                if shown(simulator, stack_overrides(init, overrides), calls) not in (None, usual[k]):
                    shown_ones.add(place.general)
                    break
            if place.general in shown_ones:
                break
        hidden.add(place.general)
    return sorted(hidden - shown_ones - refused)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(WORLD_TYPES.keys() - RICH.keys()))
def test_an_episode_shows_another_value(name: str) -> None:
    """By `--init`, the door of the simulator."""
    assert unseen(name, make_simulator(rich(name))) == []


QUIET = {"settling_s": 60.0, "rain": [], "faults": {"schedule": [], "random": []}}
STUCK = {"kind": "stuck_sensor", "at": 1.0, "seconds": 30.0, "entity": "moisture.plant_A"}
AT_B = ("water_plant", {"plant_id": "plant_B", "liters": 4.5}), ("harvest_fruit", {"plant_id": "plant_B"})
VISITS = [
    ((18.5, 2.0), "refill_water_tank", {}),
    ((1.0, 1.0), "get_station_pose", {"station_name": "charging_pad"}),
    ((18.0, 18.0), "refill_pesticide", {}),
    ((16.5, 15.0), "spray_pesticide", {"plant_id": "plant_D", "ml": 4.0}),
    ((12.0, 12.6), "scan_people", {}),
    ((6.0, 18.0), "dump_hopper", {}),
    ((4.3, 13.6), "sense_battery", {}),
    ((3.0, 8.2), "sense_hopper", {}),
    ((6.0, 8.5), "list_plants", {}),
    ((1.0, 1.0), "recharge", {}),
]
"""Where a rover goes, through beds, strips and a rock, and what it does there."""
ROVER = (
    (
        True,
        {**QUIET, "battery": 0.3, "plants": {"plant_B": {"moisture": 0.2}}},
        [
            ("scan_people", {}),
            ("scan_plant", {"plant_id": "plant_B"}),
            ("get_plant_pose", {"plant_id": "plant_B"}),
            ("list_plants", {}),
            ("unlock_safety_mode", {}),
            ("move_to", {"x": 3.5, "y": 12.5}),
            AT_B[0],
            ("spray_pesticide", {"plant_id": "plant_B", "ml": 240.0}),
            AT_B[1],
            ("lock_safety_mode", {}),
        ],
    ),
    (
        True,
        {
            **QUIET,
            "pose": {"x": 17.0, "y": 3.0},
            "hopper": {"fruit": 1},
            "pesticide_tank": {"ml": 100.0},
            "water_tank": {"liters": 2.0},
            "person": {"path": [{"t": 0.0, "x": 8.0, "y": 4.0}, {"t": 900.0, "x": 8.0, "y": 6.0}]},
        },
        [
            ("scan_people", {}),
            ("unlock_safety_mode", {}),
            *(
                call
                for (x, y), tool, arguments in VISITS
                for call in (("move_to", {"x": x, "y": y}), (tool, arguments))
            ),
        ],
    ),
    (
        False,
        {
            **QUIET,
            "faults": {"schedule": [STUCK], "random": []},
            "pose": {"x": 3.4, "y": 12.5},
            "safety_locked": False,
            "plants": {"plant_B": {"moisture": 0.2, "ripe": True}},
        },
        [*AT_B, ("move_to", {"x": 3.0, "y": 8.3}), ("wait", {"seconds": 70.0})],
    ),
)
STILL = {"faults": {"schedule": [], "random": []}}
CARRIED = {
    **STILL,
    "safety_locked": False,
    "limits": {"joint_torque": {"axis2": 55.0}, "peak_torque": {"axis2": 86.0}},
    "zones": {"wall": {"x": 0.6, "y": 0.0, "z": 0.0, "size": [0.3, 0.1, 0.5]}},
    "light_curtain": [{"at": 1.0, "seconds": 3.0}],
}
HELD = {
    **STILL,
    "safety_locked": False,
    "objects": {"cube_blue": {"mass": 0.3, "force_limit": 4.0}},
    "limits": {"finger_force": 4.0},
    "light_curtain": [{"at": 1.0, "seconds": 2.0}],
}


def arm_to(x: float, y: float, z: float, **turned: float) -> tuple[str, Mapping[str, Any]]:
    return "move_to", {"x": x, "y": y, "z": z, **turned}


READS: Calls = [("sense_pose", {}), ("sense_gripper", {}), ("list_objects", {})]
UNLOCKS: Calls = [("unlock_safety", {})]
STACKS: Calls = [
    *READS,
    ("pick", {"object_id": "box_small"}),
    ("place", {"x": 0.6, "y": -0.2, "z": 0.2, "yaw": 0.0}),
    *READS,
]
SETS_DOWN: Calls = [
    *READS,
    ("pick", {"object_id": "cube_blue"}),
    ("place", {"x": 0.15, "y": 0.19, "z": 0.06}),
    *READS,
]
BY_POST: Calls = [arm_to(0.26, -0.02, 0.05), arm_to(0.2, -0.2, 0.05), *UNLOCKS]
TURNED = {"yaw": 0.0}
SHORT: Mapping[str, Sequence[tuple[bool, Mapping[str, Any], Calls]]] = {
    "farm_rover": ROVER,
    "robotic_arm": (
        (True, CARRIED, STACKS),
        (False, CARRIED, STACKS),
        (
            True,
            {**STILL, "light_curtain": []},
            [
                arm_to(0.5, 0.2, 0.3, **TURNED),
                *UNLOCKS,
                arm_to(0.5, 0.2, 0.3, **TURNED),
                ("home", {}),
                *READS,
            ],
        ),
    ),
    "so101_bench": (
        (True, HELD, SETS_DOWN),
        (False, HELD, SETS_DOWN),
        (
            True,
            {**STILL, "light_curtain": []},
            [arm_to(0.2, 0.1, 0.1), *UNLOCKS, arm_to(0.2, 0.1, 0.1), ("home", {}), *READS],
        ),
        (True, HELD, BY_POST),
    ),
}
"""Short episodes: whether no sensor is read, which saves time, start and calls."""
OF_LONG_EPISODES = {
    "farm_rover": {
        "Fault.entity",
        "Fault.kind",
        "FaultRate.entity",
        "FaultRate.kind",
        "SensorSpec.hysteresis",
        "SensorSpec.resolution",
        "beds.*.x_max",
        "beds.*.y_min",
        "keep_out.*.y_max",
        "plants.*.residue_ml",
        "rover.reach",
        "rover.side_slip",
        "rover.spill_limit_liters",
        "rover.water_pump.tank_height_m",
        "soil.air_share",
        "soil.bearing_margin",
        "soil.runoff_limit_liters",
        "stations.*.yaw",
        "wet_ground.*.x_max",
    },
    "robotic_arm": {
        "arm.ceiling",
        "arm.inner_reach",
        "arm.protective_stop",
        "arm.yaw_speed",
        "bins.*.size",
        "bins.*.wall_height",
        "bins.*.x",
        "bins.*.y",
        "bins.*.yaw",
        "bins.*.z",
        "limits.displacement",
        "limits.set_down_force",
        "obstacles.*.size",
        "obstacles.*.x",
        "obstacles.*.y",
        "obstacles.*.yaw",
        "slot_radius",
        "zones.*.size",
        "zones.*.x",
        "zones.*.y",
        "zones.*.yaw",
        "zones.*.z",
    },
    "so101_bench": {
        "bins.*.size",
        "bins.*.wall_height",
        "bins.*.x",
        "bins.*.yaw",
        "bins.*.z",
        "hidden.sensor_noise",
        "limits.displacement",
        "limits.drop_height",
        "limits.set_down_force",
        "slot_radius",
    },
}
"""Fields of which none of these shows another value."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "every", [32, pytest.param(1, marks=[pytest.mark.nightly, pytest.mark.timeout(900)])]
)
@pytest.mark.parametrize("name", sorted(SHORT))
def test_a_short_episode_shows_another_value(name: str, every: int) -> None:
    """Of every 32nd field by day, of all by night."""
    world = rich(name)
    known = known_values(world, starts_of(world))
    simulators = {hurries: make_simulator(world) for hurries in (True, False)}
    simulators[True].hurries = True
    usual = [shown(simulators[hurries], init, calls) for hurries, init, calls in SHORT[name]]
    fields: dict[str, list[Place]] = {}
    for place in places(world.state):
        if name == "farm_rover" or place.general.split(".")[0] not in PARTS_OF_ALL:
            fields.setdefault(place.general, []).append(place)
    assert fields.keys() >= OF_LONG_EPISODES[name]

    def shows(place: Place) -> bool:
        return any(
            shown(simulators[hurries], stack_overrides(init, place.override(value)), calls)
            not in (None, usual[k])
            for k, (hurries, init, calls) in enumerate(SHORT[name])
            for value in islice(others(place, known), 5)
        )

    chosen = sorted(fields.keys() - OF_LONG_EPISODES[name])[::every]
    assert [one for one in chosen if not any(map(shows, fields[one][:4]))] == []


@pytest.mark.slow
def test_a_field_that_an_episode_does_not_heed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    world = rich(SMALLEST)
    simulator, known = make_simulator(world), known_values(world, starts_of(world))
    init = simulator.init
    field = next(
        place.path[0]
        for place in places(world.state)
        if place.general.split(".")[0] not in PARTS_OF_ALL
        and any(True for _ in accepted(world, place, known))
    )
    monkeypatch.setattr(
        simulator,
        "init",
        lambda state, seed: init({key: one for key, one in state.items() if key != field}, seed),
    )
    whole = unseen(SMALLEST, make_simulator(world), most=4)
    missed = unseen(SMALLEST, simulator, most=4)
    assert set(missed) > set(whole)
    assert {one.split(".")[0] for one in set(missed) - set(whole)} == {field}
