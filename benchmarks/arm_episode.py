"""Cost of an episode of the arm beside its bare physics: `python benchmarks/arm_episode.py [--repeats N]`.

Three scripts on the default bench, each timed from `init` to `finish`, and beside each the same number of
bare `mj_step` calls on the same scene at rest, in one call of MuJoCo's own loop. Medians of the processor's
time of several runs, in turn.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from threading import Event
from time import process_time
from typing import Any

from core_eval.call_status import CallStatus

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import mujoco

from configs.worlds_loader import load_world
from devices.robotic_arm.world import BenchWorld
from sims.arm import scene_parts
from sims.robotic_arm import scene
from sims.robotic_arm.simulator import ArmSimulator

Call = tuple[str, Mapping[str, Any]]
Script = Sequence[Call]
UNLOCK: Call = ("unlock_safety", {})
LOCK: Call = ("lock_safety", {})
HOME: Call = ("home", {})


def pick_and_place(world: BenchWorld, name: str, tray: str) -> Script:
    pose = world.bins[tray]
    place = {"x": pose.x, "y": pose.y, "z": pose.z, "yaw": pose.yaw}
    return [("pick", {"object_id": name}), ("place", place)]


def scripts(world: BenchWorld) -> Mapping[str, Script]:
    pushed = [("move_to", {"x": 0.5, "y": y, "z": 0.03, "yaw": 0.0}) for y in (0.08, 0.32)]
    return {
        "one object": [UNLOCK, *pick_and_place(world, "box_small", "bin_left"), HOME, LOCK],
        "two objects": [
            UNLOCK,
            *pick_and_place(world, "box_small", "bin_left"),
            *pick_and_place(world, "cup", "bin_right"),
            HOME,
            LOCK,
        ],
        "a box pushed": [UNLOCK, *pushed, HOME, LOCK],
    }


def episode(simulator: ArmSimulator, script: Script) -> float:
    started = process_time()
    simulator.init({}, 0)
    for tool, arguments in script:
        outcome = simulator.execute(tool, arguments, Event())
        assert outcome.status == CallStatus.OK, outcome
    simulator.finish()
    return process_time() - started


def bare(model: Any, data: Any, steps: int) -> float:
    mujoco.mj_resetData(model, data)
    started = process_time()
    mujoco.mj_step(model, data, steps)
    return process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    world = load_world("robotic_arm").state
    assert isinstance(world, BenchWorld)
    simulator = ArmSimulator(world)
    model = mujoco.MjModel.from_xml_string(scene.scene_xml(world))
    data = mujoco.MjData(model)
    print(f"MuJoCo {mujoco.__version__}, time step {scene_parts.TIMESTEP * 1e3:g} ms, medians of {repeats}")
    print(f"{'episode':14} {'device s':>9} {'steps':>6} {'cpu ms':>8} {'mj_step ms':>11} {'ratio':>6}")
    for name, script in scripts(world).items():
        walls, bares = [], []
        for _ in range(repeats):
            walls.append(episode(simulator, script))
            bares.append(bare(model, data, simulator.steps_computed))
        wall, alone = median(walls), median(bares)
        print(
            f"{name:14} {simulator.clock.now:9.2f} {simulator.steps_computed:6d} {wall * 1e3:8.1f} "
            f"{alone * 1e3:11.1f} {wall / alone:6.2f}"
        )


if __name__ == "__main__":
    main()
