"""Snapshots of simulators: going back gives the same bits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from threading import Event
from typing import Any

import pytest
from farm_rig import rover

from configs.worlds_loader import load_world, make_simulator
from devices.sensors import Sample
from sims.simulator import Simulator

FARM_CALLS = [
    ("unlock_safety_mode", {}),
    ("move_to", {"x": 2.0, "y": 14.0, "yaw": 0.0}),
    ("water_plant", {"plant_id": "plant_A", "liters": 4.9}),
    ("spray_pesticide", {"plant_id": "plant_A", "ml": 120.0}),
    ("move_to", {"x": 10.5, "y": 12.4, "yaw": 1.0}),
    ("scan_plant", {"plant_id": "plant_A"}),
]
ARM_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("unlock_safety", {}),
    ("pick", {"object_id": "box_small"}),
    ("place", {"x": 0.35, "y": 0.6, "z": 0.1, "yaw": 0.0}),
    ("move_to", {"x": 0.6, "y": -0.2, "z": 0.05, "yaw": 0.0}),
]


def play(simulator: Simulator[Any], calls: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    return [simulator.execute(tool, arguments, Event()) for tool, arguments in calls]


def end(simulator: Simulator[Any]) -> tuple[Mapping[str, Any], Any, float]:
    simulator.finish()
    return simulator.state_dict(), simulator.events, simulator.clock.now


@pytest.mark.parametrize(("world", "calls"), [("farm_rover", FARM_CALLS), ("robotic_arm", ARM_CALLS)])
def test_an_episode_goes_on_from_a_snapshot_bit_for_bit(
    world: str, calls: list[tuple[str, dict[str, Any]]]
) -> None:
    simulator = make_simulator(load_world(world), 7)
    heard: list[Sample] = []
    simulator.subscribe(heard.append)
    play(simulator, calls[:2])
    snapshot, before = simulator.snapshot(), len(heard)
    first = play(simulator, calls[2:]), end(simulator), heard[before:]
    for _ in range(2):
        simulator.restore(snapshot)
        del heard[:]
        assert (play(simulator, calls[2:]), end(simulator), heard) == first


@pytest.mark.parametrize(("world", "calls"), [("farm_rover", FARM_CALLS), ("robotic_arm", ARM_CALLS)])
def test_a_watch_sees_every_period(world: str, calls: list[tuple[str, dict[str, Any]]]) -> None:
    simulator = make_simulator(load_world(world), 7)
    seen: list[float] = []
    simulator.watch(0.01, seen.append)
    play(simulator, calls[:2])
    assert seen == [round((k + 1) * 0.01, 3) for k in range(len(seen))]
    assert len(seen) == int(simulator.clock.now / 0.01 + 1e-9)


@pytest.mark.parametrize("cut", [2, 3, 4])
def test_an_arm_that_holds_pushes_and_grows_weak_goes_on_bit_for_bit(cut: int) -> None:
    overrides = {
        "faults": {"random": [{"kind": "weak_gripper", "per_hour": 900.0, "seconds": 3.0}]},
        "sensors": {"wrist_force": {"kind": "quantised", "period": 0.3, "resolution": 0.1, "noise": 0.2}},
        "light_curtain": [{"at": 5.0, "seconds": 2.0}],
        "hidden": {"friction": 0.8, "grip_force": 0.9, "mass": 1.1, "dropout": 0.1},
    }
    calls: list[tuple[str, dict[str, Any]]] = [
        *ARM_CALLS[:2],
        ("move_to", {"x": 0.6, "y": -0.2, "z": 0.06, "yaw": 0.5}),
        *ARM_CALLS[2:],
    ]
    simulator = make_simulator(load_world("robotic_arm"), 7)
    assert simulator.init(overrides, 7).status == "ok"
    heard: list[Sample] = []
    simulator.subscribe(heard.append)
    play(simulator, calls[:cut])
    snapshot, before = simulator.snapshot(), len(heard)
    first = play(simulator, calls[cut:]), end(simulator), heard[before:]
    other = make_simulator(load_world("robotic_arm"), 7)
    for _ in range(2):
        simulator.restore(snapshot)
        assert other.init(overrides, 7).status == "ok"
        play(other, calls[:3])
        del heard[:]
        assert (play(simulator, calls[cut:]), end(simulator), heard) == first


def test_a_contact_starts_at_the_same_moment_after_going_back() -> None:
    """What the rover touched later must not be known to the contact watch of an earlier moment."""
    crossing, away = {"x": 10.5, "y": 5.4, "yaw": math.pi / 2}, {"x": 10.5, "y": 3.8}
    simulator, _ = rover({"safety_locked": False, "pose": {"x": 10.5, "y": 4.5998, "yaw": math.pi / 2}})
    point = simulator.snapshot()
    runs = []
    for _ in range(3):
        simulator.restore(point)
        simulator.execute("move_to", crossing, Event())
        runs.append(simulator.events)
        simulator.execute("move_to", away, Event())
    assert runs[0] and runs[0] == runs[1] == runs[2]
