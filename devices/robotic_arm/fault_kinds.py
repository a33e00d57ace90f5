"""What can fail of a robotic arm, beside the faults that every rig can have."""

from __future__ import annotations

from devices.faults import FaultKind

ARM_FAULTS = (
    FaultKind("weak_gripper", "the gripper is weak; the strength is the lost share of its force", share=True),
)
