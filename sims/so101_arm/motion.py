"""Runs the arm: commands its servos in every physics step, and stops it where a servo gives too much."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sims.arm import scene_parts
from sims.arm.contact_mask import ContactMask
from sims.arm.geometry import Array
from sims.arm.motion import ArmMotion
from sims.so101_arm.harm_monitor import So101Monitor
from sims.so101_arm.kinematics import AXES
from sims.so101_arm.physics import So101Physics

STOP_TIME = 0.05
"""Time constant of the torques that the protective stop looks at, s."""


@dataclass(frozen=True)
class So101Program:
    """Targets of the servos for the next steps: of the arm's joints (n, 5), and of the gripper (n,), rad."""

    joints: Array
    gripper: Array

    def __len__(self) -> int:
        return len(self.gripper)


class So101Motion(ArmMotion[So101Program]):
    """Runs a program step by step on the physics and its monitor."""

    touch_force = 0.3
    physics: So101Physics
    monitor: So101Monitor

    def __init__(self, physics: So101Physics, monitor: So101Monitor) -> None:
        super().__init__(physics, monitor)
        self.mask = ContactMask(physics)
        self.lowers = False
        """Whether an object that leaves the jaws is set down."""
        self._load = np.zeros(AXES)

    def _forget_load(self) -> None:
        self._load[:] = 0.0

    def halt(self) -> None:
        """End the running program; the servos hold their last commanded angles."""
        self._program, self._feeling, self.resting = None, False, False

    def _react(self) -> None:
        lost = self.monitor.lost if self.lowers else None
        if lost is not None:
            self.mask.lower(lost)
            self.monitor.moved.released(lost)
        super()._react()

    def _command(self, program: So101Program, row: int) -> None:
        self.physics.command(program.joints[row], float(program.gripper[row]))

    def _meets_something(self) -> bool:
        torques = np.abs(self.physics.data.actuator_force[:AXES])
        self._load += (torques - self._load) * scene_parts.TIMESTEP / STOP_TIME
        return bool(self._load.max() > self.physics.world.arm.protective_stop)

    def _back(self, program: So101Program, rows: slice) -> So101Program:
        joints = program.joints[rows][::-1]
        return So101Program(joints, program.gripper[rows][-1:].repeat(len(joints)))
