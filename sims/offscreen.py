"""Pictures of a MuJoCo scene without a screen, by EGL or OSMesa."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import mujoco
import numpy as np

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
