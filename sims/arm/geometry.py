"""Arrays, angles, and poses that no joint angles reach."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class UnreachableError(ValueError):
    """No joint angles bring the fingertips there."""


def array(*numbers: float) -> Array:
    """Return the numbers as an array."""
    return np.array(numbers)


def wrapped(angle: float) -> float:
    """Return the same angle in (-pi, pi]."""
    turned = float(np.remainder(angle, 2 * np.pi))
    return turned - 2 * np.pi if turned > np.pi else turned
