"""The load on the gears of the bench's drives, as makers rate it: the mean of a cycle, and its peaks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sims.arm.geometry import Array

LEAST_TURN = 0.02
"""A joint that turns less in a cycle, rad, has no mean: it holds still, and wears nothing."""


class GearLoads:
    """Loads of one cycle, the motion of a call.

    Harmonic Drive rates a gear (component sets CSF, "limit for average torque" and "limit for repeated peak
    torque") by the cube root of the mean of the torque's cube over a load cycle, weighted by the output's
    turn, and by the greatest torque of its starts and stops.

    Args:
        means, peaks: those limits of each drive, N m.
        timestep: of the physics, s.
    """

    def __init__(self, means: Sequence[float], peaks: Sequence[float], timestep: float) -> None:
        self._means, self._peaks = np.array(means), np.array(peaks)
        self._timestep = timestep
        self._cubes, self._turns = np.zeros(len(means)), np.zeros(len(means))
        self.torques = np.zeros(len(means))
        """Of the last step, without their signs, N m."""
        self.start: float | None = None
        """Device time at which the cycle began, s; None: nothing has moved yet."""

    def begin(self) -> None:
        """Begin a cycle with the next step."""
        self._cubes[:] = self._turns[:] = 0.0
        self.start = None

    def after_step(self, torques: Array, speeds: Array, t: float) -> None:
        """Take the torques, N m, and speeds, rad/s, of the step that ended at device time `t`, s."""
        if self.start is None:
            self.start = t - self._timestep
        np.abs(torques, out=self.torques)
        turns = np.abs(speeds) * self._timestep
        self._turns += turns
        self._cubes += self.torques**3 * turns

    @property
    def overload(self) -> float:
        """What the worst joint's mean of the cycle so far is above its limit, N m; at least 0."""
        turned = self._turns >= LEAST_TURN
        means = np.cbrt(self._cubes[turned] / self._turns[turned])
        return float((means - self._means[turned]).max(initial=0.0))

    @property
    def peak_overload(self) -> float:
        """What the worst joint's torque of the last step is above its peak's limit, N m; at least 0."""
        return max(0.0, float((self.torques - self._peaks).max()))
