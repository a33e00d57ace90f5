"""Pictures of an arm on its bench: camera, light, and the colours of things."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import mujoco
import numpy as np

from devices.arm.arm_world import ArmWorld
from sims.arm.simulator import GripperArm
from sims.png import CannotDrawError, png

MOST_GEOMS = 1000


def rendered(model: Any, data: Any, camera: str, size: tuple[int, int]) -> bytes:
    """Return what a camera of the model sees, as a PNG file of `size` (width, height) pixels.

    Raises:
        CannotDrawError: the machine has no OpenGL without a screen.
    """
    width, height = size
    model.vis.global_.offwidth, model.vis.global_.offheight = width, height
    with _context(width, height):
        scene, options = mujoco.MjvScene(model, MOST_GEOMS), mujoco.MjvOption()
        view, frame = mujoco.MjvCamera(), mujoco.MjrRect(0, 0, width, height)
        view.type, view.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, model.camera(camera).id
        context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
        try:
            mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, context)
            seen = mujoco.mjtCatBit.mjCAT_ALL
            mujoco.mjv_updateScene(model, data, options, mujoco.MjvPerturb(), view, seen, scene)
            mujoco.mjr_render(frame, scene, context)
            pixels = np.empty((height, width, 3), dtype=np.uint8)
            mujoco.mjr_readPixels(pixels, None, frame, context)
        finally:
            context.free()
    return png(pixels[::-1])


@contextmanager
def _context(width: int, height: int) -> Iterator[None]:
    """Make an OpenGL context current, by the first way that this machine has."""
    for way in ("egl", "osmesa"):
        try:
            made = import_module(f"mujoco.{way}").GLContext(width, height)
            made.make_current()
        except (ImportError, AttributeError, RuntimeError, OSError):
            continue
        try:
            yield
        finally:
            made.free()
        return
    raise CannotDrawError(
        "pictures need OpenGL without a screen, by EGL or OSMesa, and neither works here: "
        "install Debian's libegl1, or libosmesa6"
    )


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
