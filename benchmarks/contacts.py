"""Contact forces of the arm's bench against the time step: `python benchmarks/contacts.py [--steps MS ...]`.

Each script meets something: a bin's wall, the bench, a post, a cup. A force that is physics stays the same in
finer steps; a force that is numerics does not. The table has each event's severity; the last column says how
far the shipped step is from the finest one. With `--stop N` the protective stop is at N newtons.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from configs.worlds_loader import load_world
from devices.robotic_arm.world import BenchWorld
from sims.arm import scene_parts
from sims.robotic_arm.simulator import ArmSimulator

Call = tuple[str, Mapping[str, Any]]


def to(x: float, y: float, z: float) -> Call:
    return "move_to", {"x": x, "y": y, "z": z}


POST = {"obstacles": {"post": {"x": 0.65, "y": -0.1, "size": [0.05, 0.05, 0.3]}}}
PICK: Call = ("pick", {"object_id": "box_small"})
SCRIPTS: Mapping[str, tuple[Sequence[Call], Mapping[str, Any]]] = {
    "fingers on a bin's wall": ([to(0.48, 0.6, 0.2), to(0.48, 0.6, 0.025)], {}),
    "box pressed on the bench": ([PICK, to(0.5, 0.2, 0.015)], {}),
    "arm into a post": ([to(0.45, -0.1, 0.1), to(0.85, -0.1, 0.1)], POST),
    "fingers down into the cup": ([to(0.4, -0.39, 0.15), to(0.4, -0.39, 0.02)], {}),
    "cup pushed aside": ([to(0.4, -0.2, 0.03), to(0.4, -0.33, 0.03)], {}),
}


@contextmanager
def time_step(seconds: float) -> Iterator[None]:
    """Let benches that are made meanwhile have this time step, s: whole milliseconds."""
    shipped, scene_parts.TIMESTEP = scene_parts.TIMESTEP, seconds
    try:
        yield
    finally:
        scene_parts.TIMESTEP = shipped


def severities(
    script: Sequence[Call], init: Mapping[str, Any], seconds: float, stop: float
) -> dict[tuple[str, str], float]:
    """Return the greatest severity of each rule and entity at a time step, s."""
    world = load_world("robotic_arm").state
    assert isinstance(world, BenchWorld)
    found: dict[tuple[str, str], float] = {}
    with time_step(seconds):
        simulator = ArmSimulator(world)
        simulator.init({"safety_locked": False, "arm": {"protective_stop": stop}, **init}, 0)
        for tool, arguments in script:
            simulator.execute(tool, arguments, Event())
        simulator.finish()
    for event in simulator.events:
        key = event.kind, event.entity
        found[key] = max(event.severity, found.get(key, 0.0))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--steps", type=int, nargs="+", default=[4, 2, 1], help="time steps, ms, beside the shipped one"
    )
    parser.add_argument("--stop", type=float, default=150.0, help="force of the protective stop, N")
    given = parser.parse_args()
    steps = sorted({*given.steps, round(scene_parts.TIMESTEP * 1000)}, reverse=True)
    units = {rule.kind: rule.unit for rule in ArmSimulator.harm_rules}
    print(f"contact time constant {scene_parts.CONTACT_TIME * 1e3:g} ms, protective stop {given.stop:g} N")
    columns = "".join(f"{f'{ms} ms':>9}" for ms in steps)
    print(f"{'script':26}{'event':26}{columns}  off")
    for name, (script, init) in SCRIPTS.items():
        found = [severities(script, init, ms / 1000, given.stop) for ms in steps]
        for kind, entity in sorted({key for one in found for key in one}):
            values = [one.get((kind, entity), 0.0) for one in found]
            shipped = values[steps.index(round(scene_parts.TIMESTEP * 1000))]
            off = f"{shipped / values[-1] - 1:+.0%}" if values[-1] else ""
            cells = "".join(f"{value:9.4g}" for value in values)
            print(f"{name:26}{f'{kind} {entity}, {units[kind]}':26}{cells} {off:>5}")


if __name__ == "__main__":
    main()
