"""A picture of the bench as it stands: its physics' own scene with colours, light and a camera."""

from __future__ import annotations

import mujoco

from devices.robotic_arm.world import BenchWorld
from sims.arm.picture import BENCH, light, posed, thing_colour
from sims.arm.simulator import GripperArm
from sims.robotic_arm import scene

EYE, AIM = (1.9, 1.45, 1.5), (0.3, 0.0, 0.22)
"""Where the camera is, and what it looks at, m."""
ARM, GRIPPER, ZONE = (0.86, 0.87, 0.9), (0.25, 0.27, 0.3), (0.85, 0.12, 0.12)
ZONE_SHARE = 0.22
"""Opacity of a keep-out zone: the arm shows through."""


def picture(simulator: GripperArm[BenchWorld], size: tuple[int, int]) -> bytes:
    """Return the bench as a PNG file of `size` (width, height) pixels; what is struck is red.

    Raises:
        PictureError: the machine cannot draw.
    """
    world = simulator.world
    spec = mujoco.MjSpec.from_string(scene.scene_xml(world))
    light(spec, EYE, AIM)
    for geom in spec.geoms:
        geom.rgba = _colour(world, geom.name.split("/")[0], simulator.struck)
    return posed(spec.compile(), simulator, size)


def _colour(world: BenchWorld, name: str, struck: frozenset[str]) -> list[float]:
    if name in world.zones:
        return [*ZONE, ZONE_SHARE]
    if (colour := thing_colour(world, name, struck)) is not None:
        return [*colour, 1.0]
    parts = {"bench": BENCH, "palm": GRIPPER, "finger_left": GRIPPER, "finger_right": GRIPPER}
    return [*parts.get(name, ARM), 1.0]
