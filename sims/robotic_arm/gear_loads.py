"""The load on an arm's drives: their torques, low-passed, for gears suffer from load, not from jerks."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sims.arm.geometry import Array

TIME = 0.1
"""Time constant of the low-passed torques, s."""


class DriveLoads:
    """Low-passes torques in every step of the physics: an impact's are over in less than 20 ms.

    Args:
        limits: of each drive's low-passed torque, N m.
        timestep: of the physics, s.
    """

    def __init__(self, limits: Sequence[float], timestep: float) -> None:
        self._limits = np.array(limits)
        self._timestep = timestep
        self._share = _share(timestep)
        self._given = np.zeros(len(limits))
        self.torques = np.zeros(len(limits))
        """The low-passed torques without their signs, N m."""

    def after_step(self, given: Array) -> None:
        """Take the torques that the drives gave in a step, N m."""
        np.abs(given, out=self._given)
        self.torques += (self._given - self.torques) * self._share

    def rest(self, count: int) -> None:
        """Take `count` steps in which the drives give what they gave in the last one."""
        self.torques += (self._given - self.torques) * _share(count * self._timestep)

    @property
    def excess(self) -> Array:
        """What each low-passed torque is above its limit, N m; negative below it."""
        return np.asarray(self.torques - self._limits)

    @property
    def too_great(self) -> bool:
        """Whether a drive gives more than its limit now: it will be harm if it lasts."""
        return bool((self._given > self._limits).any())


def _share(seconds: float) -> float:
    """Return how far the low-passed torque goes towards one that lasts so long."""
    return -math.expm1(-seconds / TIME)
