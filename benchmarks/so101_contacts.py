"""Contact forces of the SO-101's table against the time step: `python benchmarks/so101_contacts.py`.

Each script meets something, or holds it. A force that is physics stays the same in finer steps. The table has
each event's severity and the force of the jaws on what they hold; the last column says how far the shipped
step is from the finest one. The last line is the real-time factor: device time over CPU time of a pick and
place.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from configs.worlds_loader import load_world
from devices.so101_arm.world import So101World
from sims.arm import scene_parts
from sims.so101_arm.simulator import So101Simulator

Call = tuple[str, Mapping[str, Any]]


def to(x: float, y: float, z: float) -> Call:
    return "move_to", {"x": x, "y": y, "z": z}


PICK: Call = ("pick", {"object_id": "cube_blue"})
POST = {"obstacles": {"post": {"x": 0.24, "y": -0.13, "size": [0.03, 0.03, 0.2]}}}
SCRIPTS: Mapping[str, tuple[Sequence[Call], Mapping[str, Any]]] = {
    "cube held by the jaws": ([PICK], {}),
    "jaws pressed on the table": ([to(0.28, 0.0, 0.03), to(0.28, 0.0, 0.005)], {}),
    "arm swung into a post": ([to(0.26, -0.02, 0.05), to(0.2, -0.2, 0.05)], POST),
    "cube pushed aside": ([to(0.25, 0.0, 0.02), to(0.25, -0.06, 0.02)], {}),
    "jaws down on a cube": ([to(0.255, 0.06, 0.05), to(0.255, 0.06, 0.02)], {}),
    "cube let go at a height": ([PICK, ("open_gripper", {})], {}),
}


def measured(script: Sequence[Call], init: Mapping[str, Any], seconds: float) -> dict[str, float]:
    """Return the greatest severity of each rule and entity, and the jaws' force, at a time step, s."""
    world = load_world("so101_bench").state
    assert isinstance(world, So101World)
    shipped, scene_parts.TIMESTEP = scene_parts.TIMESTEP, seconds
    try:
        simulator = So101Simulator(world)
        answer = simulator.init({"safety_locked": False, **init}, 0)
        assert answer.status == "ok", answer.message
        for tool, arguments in script:
            simulator.execute(tool, arguments, Event())
        squeeze = simulator.state_dict()["squeeze"]
        simulator.finish()
    finally:
        scene_parts.TIMESTEP = shipped
    units = {rule.kind: rule.unit for rule in So101Simulator.harm_rules}
    found = {f"squeeze {name}, N": force for name, force in squeeze.items()}
    for event in simulator.events:
        key = f"{event.kind} {event.entity}, {units[event.kind]}"
        found[key] = max(event.severity, found.get(key, 0.0))
    return found


def real_time_factor() -> float:
    """Return the device time of a pick and place over its CPU time."""
    world = load_world("so101_bench").state
    simulator = So101Simulator(world)
    simulator.init({"safety_locked": False}, 0)
    tray, begin = world.bins["bin_left"], time.process_time()
    simulator.execute(*PICK, Event())
    simulator.execute("place", {"x": tray.x, "y": tray.y, "z": tray.z}, Event())
    return simulator.clock.now / (time.process_time() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, nargs="+", default=[4, 2, 1], help="time steps, ms")
    given = parser.parse_args()
    columns = "".join(f"{f'{ms} ms':>9}" for ms in given.steps)
    print(f"{'script':26}{'quantity':36}{columns}  off")
    for name, (script, init) in SCRIPTS.items():
        found = [measured(script, init, ms / 1000) for ms in given.steps]
        for key in sorted({key for one in found for key in one}):
            values = [one.get(key, 0.0) for one in found]
            shipped = values[given.steps.index(round(scene_parts.TIMESTEP * 1000))]
            off = f"{shipped / values[-1] - 1:+.0%}" if values[-1] else ""
            cells = "".join(f"{value:9.4g}" for value in values)
            print(f"{name:26}{key:36}{cells} {off:>5}")
    print(
        f"real-time factor {real_time_factor():.0f} of a pick and place at {scene_parts.TIMESTEP * 1e3:g} ms"
    )


if __name__ == "__main__":
    main()
