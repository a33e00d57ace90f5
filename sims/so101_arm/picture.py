"""A picture of the table as it stands: the arm's published meshes, the things, light and a camera."""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from xml.etree import ElementTree

import mujoco

from devices.so101_arm.world import So101World
from sims.arm.picture import BENCH, light, posed, thing_colour
from sims.arm.simulator import GripperArm
from sims.so101_arm import assets, scene

EYE, AIM = (0.62, 0.42, 0.42), (0.14, 0.0, 0.06)
"""Where the camera is, and what it looks at, m."""
HIDDEN_GROUP = 4
"""The group that pictures leave out: sites, and the hulls, in whose place the meshes are drawn."""
PRINTED, SERVO = (1.0, 0.82, 0.12), (0.1, 0.1, 0.1)
"""Colours of the arm's parts, as in its MJCF file."""


def picture(simulator: GripperArm[So101World], size: tuple[int, int]) -> bytes:
    """Return the table as a PNG file of `size` (width, height) pixels; what is struck is red.

    Raises:
        PictureError: the machine cannot draw.
    """
    world, model = simulator.world, _drawn(scene.scene_xml(simulator.world))
    for geom in range(model.ngeom):
        name = model.geom(geom).name.split("/")[0]
        if name:
            model.geom_rgba[geom] = [*(thing_colour(world, name, simulator.struck) or BENCH), 1.0]
    return posed(model, simulator, size)


@lru_cache(2)
def _drawn(xml: str) -> Any:
    """Return the compiled scene with the arm's meshes."""
    spec = mujoco.MjSpec.from_string(xml)
    for geom in spec.geoms:
        if geom.type == mujoco.mjtGeom.mjGEOM_MESH or geom.name == scene.STAND:
            geom.group = HIDDEN_GROUP
    for site in spec.sites:
        site.group = HIDDEN_GROUP
    drawn = set()
    for body in ElementTree.fromstring(assets.mjcf()).iter("body"):
        for geom in body.findall("geom[@class='visual']"):
            mesh = geom.get("mesh", "")
            if mesh not in drawn:
                drawn.add(mesh)
                spec.add_mesh(name=mesh, file=str(assets.folder() / "assets" / f"{mesh}.stl"))
            spec.body(body.get("name")).add_geom(
                type=mujoco.mjtGeom.mjGEOM_MESH,
                meshname=mesh,
                pos=_numbers(geom, "pos"),
                quat=_numbers(geom, "quat"),
                contype=0,
                conaffinity=0,
                rgba=[*(SERVO if mesh.startswith("sts3215") else PRINTED), 1.0],
            )
    light(spec, EYE, AIM)
    return spec.compile()


def _numbers(geom: ElementTree.Element, key: str) -> list[float]:
    return [float(word) for word in geom.get(key, "").split()]
