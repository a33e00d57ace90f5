"""Convex hulls of meshes, for contacts.

MuJoCo collides hulls, and a jaw's own hull would fill the gap that it grips in. So each jaw is cut across its
length where its inner face has steps, and each slice has a hull of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise

import mujoco
import numpy as np

from sims.so101_arm.assets import Points, triangles

HULL_POINTS = 48
"""Maximum number of corners of a hull."""
CUTS: dict[str, tuple[int, tuple[float, ...]]] = {
    "wrist_roll_follower_so101_v1": (2, (0.0165, 0.04, 0.064, 0.0805, 0.0875)),
    "moving_jaw_so101_v1": (1, (-0.0695, -0.061, -0.03, -0.02)),
}
"""The fixed and the moving jaw: the axis of the mesh along the jaw, and where it is cut, m."""


@cache
def hulls(mesh: str) -> tuple[Points, ...]:
    """Return the corners (n, 3) of the convex hulls that stand for a mesh in contacts, m."""
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
