"""The arm's servos: what they give at their supply, and their protection against overload."""

from __future__ import annotations

import numpy as np

from devices.so101_arm.world import Servos
from sims.arm.geometry import Array


class ServoProtection:
    """The overload protection of each servo, as its firmware has it.

    A servo that gives more than its overload torque for its protection time goes down to its protective
    torque, and stays there until its torque is switched off and on.

    Args:
        servos: their registers.
        count: how many there are.
        timestep: of the physics, s.
    """

    def __init__(self, servos: Servos, count: int, timestep: float) -> None:
        self._servos = servos
        self._most = round(servos.protection_time / timestep)
        self._steps, self._peaks = np.zeros(count, dtype=int), np.zeros(count)
        self.latched = np.zeros(count, dtype=bool)
        """Those that have gone down."""
        self.tripped: tuple[tuple[int, float], ...] = ()
        """Those that went down in the last step, and how far their torque was too much at most, N m."""

    def after_step(self, given: Array) -> None:
        """Take the torques that the servos gave in a step, N m."""
        torques = np.abs(given)
        if not self.strained and torques.max() <= self._servos.overload_nm:
            self.tripped = ()
            return
        over = (torques > self._servos.overload_nm) & ~self.latched
        self._steps = np.where(over, self._steps + 1, 0)
        self._peaks = np.where(over, np.maximum(self._peaks, torques), 0.0)
        new = np.flatnonzero(self._steps >= self._most)
        self.tripped = tuple((int(k), float(self._peaks[k]) - self._servos.overload_nm) for k in new)
        self.latched[new] = True

    @property
    def strained(self) -> bool:
        """Whether a servo will go down if its load lasts."""
        return bool(self._steps.any())

    def switch_on(self) -> None:
        """Switch the torque of all servos off and on."""
        self.latched[:] = False
        self._steps[:] = 0

    def limits(self, wanted: Array) -> Array:
        """Return the torque that each servo can give, N m, of the wanted limits."""
        most = np.where(self.latched, self._servos.protective_nm, self._servos.stall_nm)
        return np.minimum(wanted, most)
