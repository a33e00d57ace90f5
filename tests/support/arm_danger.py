"""Starts of the arms' worlds in which something is about to go wrong, and calls that go near it."""

from __future__ import annotations

import random
from typing import Any

Script = list[tuple[str, dict[str, Any]]]


def bench_danger(rng: random.Random) -> tuple[dict[str, Any], Script]:
    """A bench on which something is about to go wrong, and calls that go near it."""
    init = {
        "safety_locked": False,
        "objects": {"box_large": {"mass": rng.choice([1.0, 4.5])}},
        "limits": {"joint_torque": {"axis2": 55.0}, "peak_torque": {"axis2": 86.0}},
        "zones": {"wall": {"x": 0.6, "y": 0.0, "z": 0.0, "size": [0.3, 0.1, 0.5]}},
        "light_curtain": [{"at": rng.uniform(0.5, 10.0), "seconds": rng.uniform(0.5, 4.0)}],
    }

    def to(x: float, y: float, z: float) -> tuple[str, dict[str, Any]]:
        return "move_to", {"x": x, "y": y, "z": z, "yaw": 0.0}

    def on(x: float, y: float, z: float) -> tuple[str, dict[str, Any]]:
        return "place", {"x": x, "y": y, "z": z, "yaw": 0.0}

    above = rng.uniform(0.05, 0.2)
    chapters: list[Script] = [
        [("pick", {"object_id": "box_small"}), on(0.35, 0.6, 0.025 + above)],
        [("pick", {"object_id": "box_small"}), ("open_gripper", {})],
        [("pick", {"object_id": "box_small"}), on(0.6, -0.2, 0.03 + above)],
        [("pick", {"object_id": "box_large"}), to(1.0, 0.1, 0.3), on(0.6, -0.4, 0.03)],
        [to(0.5, 0.06, 0.03), to(0.5, 0.06 + rng.uniform(0.05, 0.2), 0.03)],
        [to(0.4, -0.35, 0.2), to(0.4, -0.35, 0.02), ("close_gripper", {}), ("open_gripper", {})],
        [to(0.6, 0.4, 0.3), to(0.6, rng.uniform(-0.4, 0.0), 0.3)],
    ]
    return init, [call for chapter in rng.sample(chapters, 4) for call in [*chapter, ("home", {})]]


def table_danger(rng: random.Random) -> tuple[dict[str, Any], Script]:
    """An SO-101's table on which something is about to go wrong, and calls that go near it."""
    init = {
        "safety_locked": False,
        "objects": {
            "cube_blue": {"mass": rng.choice([0.02, 0.3]), "force_limit": rng.choice([4.0, 25.0])},
            "vial": {"x": 0.19 + rng.uniform(-0.01, 0.01)},
        },
        "obstacles": {"post": {"x": 0.24, "y": -0.13, "size": [0.03, 0.03, 0.2]}},
        "hands": ["post"],
        "limits": {"finger_force": 4.0},
    }
    above, over = rng.uniform(0.04, 0.1), rng.uniform(0.01, 0.03)
    unlock: tuple[str, dict[str, Any]] = ("unlock_safety", {})
    pick: tuple[str, dict[str, Any]] = ("pick", {"object_id": "cube_blue"})

    def round_cube(z: float) -> tuple[str, dict[str, Any]]:
        return "move_to", {"x": 0.24, "y": 0.06, "z": z, "roll": -0.26}

    def to(x: float, y: float, z: float) -> tuple[str, dict[str, Any]]:
        return "move_to", {"x": x, "y": y, "z": z}

    chapters: list[Script] = [
        [pick, ("open_gripper", {})],
        [pick, ("place", {"x": 0.22, "y": 0.12, "z": above})],
        [pick, ("place", {"x": 0.15, "y": 0.19, "z": 0.025 + rng.uniform(0.0, 0.05)})],
        [pick, to(0.25, 0.0, 0.04), to(0.25, -0.05, 0.04 - over)],
        [to(0.26, -0.02, 0.05), to(0.2, rng.uniform(-0.25, -0.15), 0.05), unlock],
        [to(0.25, 0.0, 0.02), to(0.25, rng.uniform(-0.08, -0.03), 0.02)],
        [to(0.28, 0.0, 0.03), to(0.28, 0.0, rng.uniform(0.0, 0.012)), unlock],
        [
            round_cube(0.05),
            round_cube(0.02),
            ("close_gripper", {}),
            round_cube(0.02 + over),
            ("open_gripper", {}),
        ],
    ]
    chosen = rng.sample(chapters, 3)
    if above > 0.07:
        chosen.append([to(0.12, 0.0, 0.03)])
    script = [call for chapter in chosen for call in [*chapter, ("home", {})]]
    return {
        **init,
        "light_curtain": [{"at": rng.uniform(0.5, 10.0), "seconds": rng.uniform(0.5, 4.0)}],
    }, script
