"""Fault kinds of a robotic arm, beside those of every rig."""

from __future__ import annotations

from devices.faults import FaultKind

ARM_FAULTS = (
    FaultKind("weak_gripper", "the gripper is weak; the strength is the lost share of its force", share=True),
)
