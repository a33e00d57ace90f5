"""Runs the arm: commands its servos in every physics step, and stops it where a servo gives too much."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sims.arm import scene_parts
from sims.arm.call_time import RETREAT
from sims.arm.contact_mask import ContactMask
from sims.arm.geometry import Array
from sims.arm.motion import ArmMotion, steps
from sims.so101_arm.harm_monitor import HarmMonitor
from sims.so101_arm.kinematics import AXES
from sims.so101_arm.physics import So101Physics

STOP_TIME = 0.05
"""Time constant of the torques that the protective stop looks at, s."""
TOUCH_FORCE = 0.3
"""Force at which a descent that feels for its support ends, N."""


@dataclass(frozen=True)
class Program:
    """Targets of the servos for the next steps: of the arm's joints (n, 5), and of the gripper (n,), rad."""

    joints: Array
    gripper: Array

    def __len__(self) -> int:
        return len(self.gripper)


class Motion(ArmMotion[Program]):
    """Runs a program step by step on the physics and its monitor."""

    physics: So101Physics
    monitor: HarmMonitor

    def __init__(self, physics: So101Physics, monitor: HarmMonitor) -> None:
        super().__init__(physics, monitor)
        self.mask = ContactMask(physics)
        self.lowers = False
        """Whether an object that leaves the jaws is set down."""
        self._load = np.zeros(AXES)

    def load(self, program: Program, *, feeling: bool = False) -> None:
        """Start this program; `feeling` ends it when the held object meets its support."""
        super().load(program, feeling=feeling)
        self._load[:] = 0.0

    def halt(self) -> None:
        """End the running program; the servos hold their last commanded angles."""
        self._program, self._feeling, self.resting = None, False, False

    def _react(self) -> None:
        monitor = self.monitor
        if self.lowers and monitor.lost is not None:
            self.mask.lower(monitor.lost)
            monitor.moved.released(monitor.lost)
        self._guard()
        if self._feeling and monitor.support_force > TOUCH_FORCE:
            self.halt()

    def _command(self, program: Program, row: int) -> None:
        self.physics.command(program.joints[row], float(program.gripper[row]))

    def _guard(self) -> None:
        """Turn back where a servo of the arm gives more than the protective stop allows."""
        program = self._program
        if program is None or not self.guarded or self.tripped:
            return
        torques = np.abs(self.physics.data.actuator_force[:AXES])
        self._load += (torques - self._load) * scene_parts.TIMESTEP / STOP_TIME
        if self._load.max() > self.physics.world.arm.protective_stop:
            back = slice(max(0, self._row - steps(RETREAT)), self._row)
            joints, gripper = program.joints[back][::-1], program.gripper[back][-1:]
            self._program, self._row = Program(joints, gripper.repeat(len(joints))), 0
            self.tripped, self._feeling = True, False
