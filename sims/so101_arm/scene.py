"""The table as a MuJoCo model: the arm as published, and boxes and cylinders for the rest.

From the published file come bodies, masses, joints with their limits, damping and friction, and the servos
with their gains and forces. Its meshes become convex hulls; its point-like finger pads are left out, because
the sliced jaws have faces of their own (`hulls`). The arm does not collide with itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from xml.etree import ElementTree

import mujoco
import numpy as np

from devices.so101_arm.world import BASE_HEIGHT, BASE_RADIUS, So101World
from sims.arm import scene_parts
from sims.arm.scene_parts import (
    ARM,
    CONDIM,
    CONTACT_IMPEDANCE,
    CONTACT_TIME,
    FLOOR_MEETS,
    SOLID,
    things_xml,
)
from sims.so101_arm import assets
from sims.so101_arm.assets import Points, triangles

IMPRATIO, NOSLIP = 20, 4
"""Stiffness of friction over that of the normal force, and iterations that take the rest of the slip out:
without them, what the jaws hold creeps out."""
TABLE, STAND = "table", "stand"
TIP, MOVING_TIP = "fingertips", "moving_tip"
FIXED_FACE, FIXED_END = -0.0079, "-0.0002 -0.0955"
"""The flat end of the fixed jaw in the frame of the gripper: its face (x), and its middle (y and z), m."""
MOVING_END = "-0.0123 -0.0755 0.0189"
"""The middle of the moving jaw's flat end, in its own frame, m."""
FIXED, MOVING = "gripper", "moving_jaw_so101_v1"
"""The bodies of the two jaws."""
ARM_MEETS = {"contype": str(ARM), "conaffinity": "0"}
STAND_MEETS = f'contype="{SOLID}" conaffinity="0"'
"""Objects meet the arm's foot; the arm, which stands on it, does not."""


@lru_cache(4)
def arm_parts(tip: float) -> dict[str, str]:
    """Return the parts of the arm's MJCF by tag: `default`, `worldbody`, `asset` and `actuator`.

    Args:
        tip: distance of the fingertips' site from the fixed jaw's face, m.
    """
    root = ElementTree.fromstring(assets.mjcf())
    asset = ElementTree.Element("asset")
    for body in root.iter("body"):
        name = body.get("name", "")
        count = 0
        for geom in body.findall("geom"):
            body.remove(geom)
            if geom.get("class") == "collision":
                for corners in hulls(geom.get("mesh", "")):
                    body.append(_hull_geom(asset, f"{name}/{count}", geom, corners))
                    count += 1
        for camera in body.findall("camera"):
            body.remove(camera)
        if name == FIXED:
            ElementTree.SubElement(body, "site", {"name": TIP, "pos": f"{FIXED_FACE + tip} {FIXED_END}"})
        elif name == MOVING:
            ElementTree.SubElement(body, "site", {"name": MOVING_TIP, "pos": MOVING_END})
    defaults = "".join(_text(part) for part in root.findall("default"))
    worldbody, actuator = root.find("worldbody"), root.find("actuator")
    assert worldbody is not None and actuator is not None
    return {
        "default": defaults,
        "worldbody": "".join(_text(part) for part in worldbody),
        "asset": _text(asset),
        "actuator": _text(actuator),
    }


def _hull_geom(
    asset: ElementTree.Element, name: str, drawn: ElementTree.Element, corners: assets.Points
) -> ElementTree.Element:
    vertices = " ".join(f"{value:.7g}" for value in corners.ravel())
    ElementTree.SubElement(asset, "mesh", {"name": name, "vertex": vertices})
    place = {key: drawn.get(key, "") for key in ("pos", "quat")}
    return ElementTree.Element("geom", {"name": name, "type": "mesh", "mesh": name, **place, **ARM_MEETS})


def _text(part: ElementTree.Element) -> str:
    return ElementTree.tostring(part, encoding="unicode")


def scene_xml(world: So101World) -> str:
    """Return the MJCF text of a table, every object at its initial pose."""
    return table_xml(world.arm.tip, things_xml(world))


def table_xml(tip: float, bodies: str = "") -> str:
    """Return the MJCF text of the arm on a table with these bodies; `tip` as in `arm_parts`."""
    parts = arm_parts(tip)
    return f"""<mujoco model="so101">
  <compiler angle="radian" autolimits="true"/>
  <option timestep="{scene_parts.TIMESTEP}" integrator="implicitfast" cone="elliptic" impratio="{IMPRATIO}" 
          iterations="50" noslip_iterations="{NOSLIP}" tolerance="1e-9">
   <flag multiccd="enable" sleep="enable"/>
  </option>
  <size memory="4M"/>
  <default><geom solref="{CONTACT_TIME} 1" solimp="{CONTACT_IMPEDANCE}" condim="{CONDIM}"/></default>
  {parts["default"]}{parts["asset"]}
  <worldbody>
    <geom name="{TABLE}" type="plane" size="2 2 0.1" {FLOOR_MEETS}/>
    <geom name="{STAND}" type="cylinder" fromto="0 0 0 0 0 {BASE_HEIGHT}" size="{BASE_RADIUS}" {STAND_MEETS}/>
    {parts["worldbody"]}{bodies}
  </worldbody>
  {parts["actuator"]}
</mujoco>"""


HULL_POINTS = 48
"""Maximum number of corners of a hull."""
CUTS: dict[str, tuple[int, tuple[float, ...]]] = {
    "wrist_roll_follower_so101_v1": (2, (0.0165, 0.04, 0.064, 0.0805, 0.0875)),
    "moving_jaw_so101_v1": (1, (-0.0695, -0.061, -0.03, -0.02)),
}
"""The fixed and the moving jaw: the axis of the mesh along the jaw, and where it is cut, m."""


@cache
def hulls(mesh: str) -> tuple[Points, ...]:
    """Return the corners (n, 3) of the convex hulls that stand for a mesh in contacts, m.

    MuJoCo collides hulls, and a jaw's own hull would fill the gap that it grips in. So each jaw is cut across
    its length where its inner face has steps, and each slice has a hull of its own.
    """
    shape = triangles(mesh)
    if mesh not in CUTS:
        return (_hull(shape.reshape(-1, 3)),)
    axis, cuts = CUTS[mesh]
    return tuple(_hull(part) for part in _slices(shape, axis, cuts))


def _slices(shape: Points, axis: int, cuts: Sequence[float]) -> Iterator[Points]:
    """Yield the corners between two cuts each, with the points where edges cross the cuts."""
    corners = shape.reshape(-1, 3)
    edges = np.concatenate([shape[:, [0, 1]], shape[:, [1, 2]], shape[:, [2, 0]]])
    for low, high in pairwise((-np.inf, *cuts, np.inf)):
        inside = (corners[:, axis] >= low) & (corners[:, axis] <= high)
        crossed = [_crossings(edges, axis, cut) for cut in (low, high) if np.isfinite(cut)]
        yield np.concatenate([corners[inside], *crossed])


def _crossings(edges: Points, axis: int, cut: float) -> Points:
    one, other = edges[:, 0], edges[:, 1]
    across = (one[:, axis] - cut) * (other[:, axis] - cut) < 0.0
    one, other = one[across], other[across]
    share = (cut - one[:, axis]) / (other[:, axis] - one[:, axis])
    return np.asarray(one + share[:, None] * (other - one))


def _hull(points: Points) -> Points:
    """Return at most `HULL_POINTS` corners of the points' convex hull, as MuJoCo finds them."""
    points = np.unique(points, axis=0)
    spec = mujoco.MjSpec()
    spec.add_mesh(name="m", uservert=points.ravel(), maxhullvert=HULL_POINTS)
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="m")
    graph = spec.compile().mesh_graph
    count = int(graph[0])
    return np.asarray(points[graph[2 + count : 2 + 2 * count]])
