"""A picture of the bench as it stands: its physics' own scene with colours, light and a camera."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import mujoco
import numpy as np

from devices.robotic_arm.world import BenchWorld
from sims.offscreen import rendered
from sims.robotic_arm import scene

EYE, AIM = (1.9, 1.45, 1.5), (0.3, 0.0, 0.22)
"""Where the camera is, and what it looks at, m."""
ARM, GRIPPER, BENCH, BIN = (0.86, 0.87, 0.9), (0.25, 0.27, 0.3), (0.8, 0.76, 0.68), (0.36, 0.42, 0.5)
OBSTACLE, ZONE, HIT = (0.4, 0.28, 0.2), (0.85, 0.12, 0.12), (0.9, 0.1, 0.1)
OBJECTS = ((0.13, 0.45, 0.75), (0.93, 0.6, 0.12), (0.2, 0.6, 0.35), (0.55, 0.3, 0.65), (0.1, 0.6, 0.65))
CAMERA = "view"
SKY = (0.93, 0.95, 0.97)
ZONE_SHARE = 0.22
"""Opacity of a keep-out zone: the arm shows through."""


class Drawn(Protocol):
    """The arm's simulator as a picture shows it."""

    world: BenchWorld

    @property
    def physics_state(self) -> tuple[Any, Any]:
        """MuJoCo's model and data."""

    @property
    def struck(self) -> frozenset[str]:
        """Things that arm or load touches, and should not."""


def picture(simulator: Drawn, size: tuple[int, int]) -> bytes:
    """Return the bench as a PNG file of `size` (width, height) pixels; what is struck is red.

    Raises:
        PictureError: the machine cannot draw.
    """
    world = simulator.world
    spec = mujoco.MjSpec.from_string(scene.scene_xml(world))
    light(spec)
    spec.worldbody.add_camera(name=CAMERA, pos=list(EYE), xyaxes=looking(EYE, AIM), fovy=40.0)
    for geom in spec.geoms:
        geom.rgba = _colour(world, geom.name.split("/")[0], simulator.struck)
    model = spec.compile()
    data = mujoco.MjData(model)
    data.qpos[:] = simulator.physics_state[1].qpos
    mujoco.mj_forward(model, data)
    return rendered(model, data, CAMERA, size)


def _colour(world: BenchWorld, name: str, struck: frozenset[str]) -> list[float]:
    if name in world.zones:
        return [*ZONE, ZONE_SHARE]
    if name in struck:
        return [*HIT, 1.0]
    if name in world.objects:
        return [*OBJECTS[list(world.objects).index(name) % len(OBJECTS)], 1.0]
    if name in world.bins:
        return [*BIN, 1.0]
    if name in world.obstacles:
        return [*OBSTACLE, 1.0]
    parts = {"bench": BENCH, "palm": GRIPPER, "finger_left": GRIPPER, "finger_right": GRIPPER}
    return [*parts.get(name, ARM), 1.0]


def light(spec: Any) -> None:
    """Add lights and a plain sky to a scene's specification."""
    spec.worldbody.add_light(pos=[1.0, 1.5, 3.0], dir=[-0.3, -0.5, -1.0], diffuse=[0.45] * 3, castshadow=True)
    spec.worldbody.add_light(
        pos=[-1.0, -1.5, 2.5], dir=[0.4, 0.5, -1.0], diffuse=[0.15] * 3, castshadow=False
    )
    spec.visual.headlight.ambient = [0.4] * 3
    spec.visual.headlight.diffuse = [0.2] * 3
    spec.add_texture(
        name="sky",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_FLAT,
        rgb1=list(SKY),
        rgb2=list(SKY),
        width=32,
        height=32,
    )


def looking(eye: Sequence[float], aim: Sequence[float]) -> list[float]:
    """Return a camera's right and up, so that it looks from one point at another."""
    away = np.subtract(eye, aim)
    away = away / math.sqrt(float(away @ away))
    right = np.cross((0.0, 0.0, 1.0), away)
    right = right / math.sqrt(float(right @ right))
    return [*right.tolist(), *np.cross(away, right).tolist()]
