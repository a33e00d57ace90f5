"""What a person and standing water cost in an episode of the rover: `python benchmarks/people.py`.

The same seven calls from four starts, each played until nothing goes on: CPU time an episode, and its ratio
to that of the dry, empty field.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from threading import Event
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from configs.worlds_loader import load_world, make_simulator

CALLS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("unlock_safety_mode", {}),
    ("move_to", {"x": 3.5, "y": 12.5}),
    ("water_plant", {"plant_id": "plant_B", "liters": 4.5}),
    ("move_to", {"x": 14.0, "y": 8.5}),
    ("spray_pesticide", {"plant_id": "plant_C", "ml": 50.0}),
    ("move_home", {}),
    ("lock_safety_mode", {}),
)
PERSON = {
    "person": {
        "path": [
            {"t": 0.0, "x": 2.0, "y": 11.0},
            {"t": 60.0, "x": 5.0, "y": 13.0},
            {"t": 400.0, "x": 15.0, "y": 9.0},
        ]
    }
}
WATER = {"plants": {f"plant_{name}": {"surface_liters": 3.0} for name in "ABCD"}}
STARTS: Mapping[str, Mapping[str, Any]] = {
    "dry and empty": {},
    "a person": PERSON,
    "standing water": WATER,
    "both": {**PERSON, **WATER},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=15, help="of each start; their median counts")
    episodes = parser.parse_args().episodes
    simulator = make_simulator(load_world("farm_rover"))

    def cost(init: Mapping[str, Any]) -> float:
        simulator.init(init, 0)
        begin = time.process_time()
        for tool, arguments in CALLS:
            simulator.execute(tool, arguments, Event())
        simulator.finish()
        simulator.run_out()
        return time.process_time() - begin

    empty = 0.0
    for name, init in STARTS.items():
        cost(init)
        median = statistics.median(cost(init) for _ in range(episodes))
        empty = empty or median
        print(f"{name:<16}{median * 1e3:7.1f} ms{median / empty:6.1f} x")


if __name__ == "__main__":
    main()
