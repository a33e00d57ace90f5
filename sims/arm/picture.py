"""Pictures of an arm on its bench: camera, light, and the colours of things."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from devices.arm.arm_world import ArmWorld
from sims.arm.simulator import GripperArm
from sims.offscreen import rendered

BENCH, BIN, OBSTACLE, HIT = (0.8, 0.76, 0.68), (0.36, 0.42, 0.5), (0.4, 0.28, 0.2), (0.9, 0.1, 0.1)
OBJECTS = ((0.13, 0.45, 0.75), (0.93, 0.6, 0.12), (0.2, 0.6, 0.35), (0.55, 0.3, 0.65), (0.1, 0.6, 0.65))
CAMERA = "view"
SKY = (0.93, 0.95, 0.97)
Colour = tuple[float, float, float]


def thing_colour(world: ArmWorld, name: str, struck: frozenset[str]) -> Colour | None:
    """Return the colour of a thing, red where it is struck; None for what is no thing of the bench."""
    if name in struck:
        return HIT
    if name in world.objects:
        return OBJECTS[list(world.objects).index(name) % len(OBJECTS)]
    if name in world.bins:
        return BIN
    return OBSTACLE if name in world.obstacles else None


def posed(model: Any, simulator: GripperArm[Any], size: tuple[int, int]) -> bytes:
    """Return a scene in the simulator's pose as a PNG file of `size` (width, height) pixels.

    Raises:
        PictureError: the machine cannot draw.
    """
    data = mujoco.MjData(model)
    data.qpos[:] = simulator.physics_state[1].qpos
    mujoco.mj_forward(model, data)
    return rendered(model, data, CAMERA, size)


def light(spec: Any, eye: Sequence[float], aim: Sequence[float]) -> None:
    """Add lights, a plain sky and a camera at `eye`, m, that looks at `aim`, to a scene's specification."""
    spec.worldbody.add_camera(name=CAMERA, pos=list(eye), xyaxes=looking(eye, aim), fovy=40.0)
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
