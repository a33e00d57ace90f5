"""Runs the arm: commands its servos in every physics step, and stops it where a servo goes down."""

from __future__ import annotations

from dataclasses import dataclass

from sims.arm.contact_mask import ContactMask
from sims.arm.geometry import Array
from sims.arm.motion import ArmMotion
from sims.so101_arm.harm_monitor import So101Monitor
from sims.so101_arm.physics import So101Physics


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
        return self.physics.protection.down

    def _back(self, program: So101Program, rows: slice) -> So101Program:
        # A servo that is down has no torque for a way back.
        joints, gripper = program.joints[rows], program.gripper[rows]
        return So101Program(joints[-1:].repeat(len(joints), axis=0), gripper[-1:].repeat(len(joints)))
