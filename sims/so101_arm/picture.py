"""A picture of the table as it stands: the arm's published meshes, the things, light and a camera."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Protocol
from xml.etree import ElementTree

import mujoco

from devices.so101_arm.world import So101World
from sims.offscreen import rendered
from sims.robotic_arm.picture import BENCH, BIN, CAMERA, HIT, OBJECTS, OBSTACLE, light, looking
from sims.so101_arm import assets, scene

EYE, AIM = (0.62, 0.42, 0.42), (0.14, 0.0, 0.06)
"""Where the camera is, and what it looks at, m."""
HIDDEN_GROUP = 4
"""The group that pictures leave out: sites, and the hulls, in whose place the meshes are drawn."""
PRINTED, SERVO = (1.0, 0.82, 0.12), (0.1, 0.1, 0.1)
"""Colours of the arm's parts, as in its MJCF file."""


class Drawn(Protocol):
    """The arm's simulator as a picture shows it."""

    world: So101World

    @property
    def physics_state(self) -> tuple[Any, Any]:
        """MuJoCo's model and data."""

    @property
    def struck(self) -> frozenset[str]:
        """Things that arm or load touches, and should not."""


def picture(simulator: Drawn, size: tuple[int, int]) -> bytes:
    """Return the table as a PNG file of `size` (width, height) pixels; what is struck is red.

    Raises:
        PictureError: the machine cannot draw.
    """
    world, model = simulator.world, _drawn(scene.scene_xml(simulator.world))
    for geom in range(model.ngeom):
        name = model.geom(geom).name.split("/")[0]
        if name:
            model.geom_rgba[geom] = [*_colour(world, name, simulator.struck), 1.0]
    data = mujoco.MjData(model)
    data.qpos[:] = simulator.physics_state[1].qpos
    mujoco.mj_forward(model, data)
    return rendered(model, data, CAMERA, size)


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
    light(spec)
    spec.worldbody.add_camera(name=CAMERA, pos=list(EYE), xyaxes=looking(EYE, AIM), fovy=40.0)
    return spec.compile()


def _numbers(geom: ElementTree.Element, key: str) -> list[float]:
    return [float(word) for word in geom.get(key, "").split()]


def _colour(world: So101World, name: str, struck: frozenset[str]) -> tuple[float, float, float]:
    if name in struck:
        return HIT
    if name in world.objects:
        return OBJECTS[list(world.objects).index(name) % len(OBJECTS)]
    if name in world.bins:
        return BIN
    return OBSTACLE if name in world.obstacles else BENCH
