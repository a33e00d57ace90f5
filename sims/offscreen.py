"""Pictures of a MuJoCo scene without a screen, by EGL or OSMesa."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import mujoco
import numpy as np

from sims.picture_error import CannotDrawError
from sims.png import png

MOST_GEOMS = 1000
SMALL = 400
"""Height in pixels up to which labels have the small font, so that neighbours' do not overlap."""


def rendered(
    model: Any, data: Any, camera: str, size: tuple[int, int], labels: Collection[str] = ()
) -> bytes:
    """Return what a camera of the model sees, as a PNG file of `size` (width, height) pixels.

    `labels` are names of geoms that are written at them.

    Raises:
        CannotDrawError: the machine has no OpenGL without a screen.
    """
    width, height = size
    model.vis.global_.offwidth, model.vis.global_.offheight = width, height
    with _context(width, height):
        scene, options = mujoco.MjvScene(model, MOST_GEOMS), mujoco.MjvOption()
        view, frame = mujoco.MjvCamera(), mujoco.MjrRect(0, 0, width, height)
        view.type, view.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, model.camera(camera).id
        fonts = mujoco.mjtFontScale
        context = mujoco.MjrContext(
            model, fonts.mjFONTSCALE_100 if height <= SMALL else fonts.mjFONTSCALE_150
        )
        try:
            mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, context)
            seen = mujoco.mjtCatBit.mjCAT_ALL
            mujoco.mjv_updateScene(model, data, options, mujoco.MjvPerturb(), view, seen, scene)
            for geom in scene.geoms[: scene.ngeom]:
                name = model.geom(geom.objid).name if geom.objtype == mujoco.mjtObj.mjOBJ_GEOM else ""
                geom.label = name if name in labels else ""
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
