"""The map of an episode as messages `foxglove.SceneUpdate`: places, obstacles and the machine's pose."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from core_eval.log import EpisodeRow
from sims.world_type import WORLD_TYPES

FRAME = "world"
PLACE, OBSTACLE, MACHINE = (
    {"r": 0.2, "g": 0.6, "b": 0.3, "a": 0.8},
    {"r": 0.5, "g": 0.5, "b": 0.5, "a": 0.6},
    {"r": 0.1, "g": 0.4, "b": 0.9, "a": 1.0},
)
HALF_PLACE_M, LABEL_M, MACHINE_M, OBSTACLE_M = 0.1, 0.4, 0.6, 0.3
SHAPES = ("arrows", "cubes", "spheres", "cylinders", "lines", "triangles", "texts", "models")
SCHEMA_NAME = "foxglove.SceneUpdate"
SCHEMA: Mapping[str, Any] = {
    "title": SCHEMA_NAME,
    "type": "object",
    "properties": {
        "deletions": {"type": "array", "items": {"type": "object"}},
        "entities": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "timestamp": {
                        "type": "object",
                        "title": "time",
                        "properties": {"sec": {"type": "integer"}, "nsec": {"type": "integer"}},
                    },
                    "frame_id": {"type": "string"},
                    "id": {"type": "string"},
                    "lifetime": {"type": "object", "title": "duration"},
                    "frame_locked": {"type": "boolean"},
                    **{
                        name: {"type": "array", "items": {"type": "object"}} for name in ("metadata", *SHAPES)
                    },
                },
            },
        },
    },
}


def places(episode: EpisodeRow) -> list[dict[str, Any]]:
    """Return the entities of a world's fixed map; none where the world has no places."""
    world = None if episode.world is None else WORLD_TYPES.get(episode.world)
    state = episode.definition.world_state
    if world is None or not world.place_keys or not isinstance(state, dict):
        return []
    found = []
    for section, members in state.items():
        if isinstance(members, dict):
            found += list(_entities(str(section), members, section in world.place_keys))
    return found


def pose(state: Mapping[str, Any]) -> dict[str, float] | None:
    """Return the machine's pose in a true state; None where it has none."""
    found = state.get("pose")
    if not isinstance(found, dict) or not _numbers(found, "x", "y"):
        return None
    return {name: float(found[name]) if _numbers(found, name) else 0.0 for name in ("x", "y", "z", "yaw")}


def update(entities: list[dict[str, Any]], at: int) -> dict[str, Any]:
    """Return the message for a time in ns."""
    time = {"sec": at // 10**9, "nsec": at % 10**9}
    return {"deletions": [], "entities": [{**entity, "timestamp": time} for entity in entities]}


def machine(at: Mapping[str, float]) -> dict[str, Any]:
    """Return the machine as an arrow."""
    arrow = {
        "pose": _pose(at["x"], at["y"], at["z"], at["yaw"]),
        "shaft_length": MACHINE_M * 0.6,
        "shaft_diameter": MACHINE_M * 0.3,
        "head_length": MACHINE_M * 0.4,
        "head_diameter": MACHINE_M * 0.6,
        "color": MACHINE,
    }
    return _entity("machine", arrows=[arrow])


def _entities(section: str, members: Mapping[str, Any], named_place: bool) -> Iterator[dict[str, Any]]:
    for name, where in members.items():
        if not isinstance(where, dict):
            continue
        if _numbers(where, "x_min", "x_max", "y_min", "y_max"):
            x, y = (where["x_min"] + where["x_max"]) / 2, (where["y_min"] + where["y_max"]) / 2
            size = {
                "x": where["x_max"] - where["x_min"],
                "y": where["y_max"] - where["y_min"],
                "z": OBSTACLE_M,
            }
            cube = {"pose": _pose(x, y, OBSTACLE_M / 2), "size": size, "color": OBSTACLE}
            yield _entity(f"{section}/{name}", cubes=[cube], texts=[_label(name, x, y, OBSTACLE_M)])
        elif _numbers(where, "x", "y", "radius"):
            x, y, width = where["x"], where["y"], 2 * where["radius"]
            cylinder = {
                "pose": _pose(x, y, OBSTACLE_M / 2),
                "size": {"x": width, "y": width, "z": OBSTACLE_M},
                "bottom_scale": 1.0,
                "top_scale": 1.0,
                "color": OBSTACLE,
            }
            yield _entity(f"{section}/{name}", cylinders=[cylinder], texts=[_label(name, x, y, OBSTACLE_M)])
        elif named_place and _numbers(where, "x", "y"):
            x, y, z = where["x"], where["y"], where["z"] if _numbers(where, "z") else 0.0
            side = 2 * HALF_PLACE_M
            cube = {"pose": _pose(x, y, z), "size": {"x": side, "y": side, "z": side}, "color": PLACE}
            yield _entity(f"{section}/{name}", cubes=[cube], texts=[_label(name, x, y, z + side)])


def _entity(name: str, **shapes: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "frame_id": FRAME,
        "id": name,
        "lifetime": {"sec": 0, "nsec": 0},
        "frame_locked": False,
        "metadata": [],
        **{kind: shapes.get(kind, []) for kind in SHAPES},
    }


def _label(text: str, x: float, y: float, z: float) -> dict[str, Any]:
    return {
        "pose": _pose(x, y, z + LABEL_M),
        "billboard": True,
        "font_size": LABEL_M,
        "scale_invariant": False,
        "color": {"r": 0.0, "g": 0.0, "b": 0.0, "a": 1.0},
        "text": text,
    }


def _pose(x: float, y: float, z: float, yaw: float = 0.0) -> dict[str, Any]:
    return {
        "position": {"x": x, "y": y, "z": z},
        "orientation": {"x": 0.0, "y": 0.0, "z": math.sin(yaw / 2), "w": math.cos(yaw / 2)},
    }


def _numbers(values: Mapping[str, Any], *names: str) -> bool:
    return all(
        isinstance(values.get(name), int | float) and not isinstance(values.get(name), bool) for name in names
    )
