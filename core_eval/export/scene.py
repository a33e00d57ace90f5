"""The map of an episode as messages `foxglove.SceneUpdate`: places, obstacles and the machine's pose."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from core_eval.log import EpisodeRow
from sims.world_shapes import Shape, shapes_of
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
    return [_solid(shape) for shape in shapes_of(state, world.place_keys)]


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


def _solid(shape: Shape) -> dict[str, Any]:
    """Return a shape as a cylinder or a box; a mere place as a small box around it."""
    color = PLACE if shape.place else OBSTACLE
    name = f"{shape.section}/{shape.name}"
    if not shape.width:
        side = 2 * HALF_PLACE_M
        cube = {
            "pose": _pose(shape.x, shape.y, shape.z),
            "size": {"x": side, "y": side, "z": side},
            "color": color,
        }
        return _entity(name, cubes=[cube], texts=[_label(shape.name, shape.x, shape.y, shape.z + side)])
    height = shape.height or OBSTACLE_M
    solid = {
        "pose": _pose(shape.x, shape.y, shape.z + height / 2, shape.yaw),
        "size": {"x": shape.width, "y": shape.depth, "z": height},
        "color": color,
    }
    texts = [_label(shape.name, shape.x, shape.y, shape.z + height)]
    if shape.round:
        return _entity(name, cylinders=[{**solid, "bottom_scale": 1.0, "top_scale": 1.0}], texts=texts)
    return _entity(name, cubes=[solid], texts=texts)


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
