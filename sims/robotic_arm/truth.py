"""The whole true state of the bench, JSON-ready, in SI units (`docs/harm-rules-arm.md`)."""

from __future__ import annotations

from typing import Any

from sims.robotic_arm import quantities
from sims.robotic_arm.handling import BenchHandling
from sims.robotic_arm.harm_monitor import BenchMonitor
from sims.robotic_arm.physics import AXES, BenchPhysics

POSE = ("x", "y", "z", "yaw")


def state(physics: BenchPhysics, handling: BenchHandling, monitor: BenchMonitor, t: float) -> dict[str, Any]:
    """Return it at device time `t`, s, with the quantities that the harm rules name as signals."""
    return {
        "safety_locked": not monitor.unlocked,
        "gripper": handling.gripper,
        "holding": physics.held,
        "pose": dict(zip(POSE, physics.tip(), strict=True)),
        "objects": physics.objects.poses(),
        "joints": physics.data.qpos[:AXES].tolist(),
        "joint_speeds": quantities.joint_speeds(physics),
        "aperture": physics.aperture,
        "finger_force": physics.finger_force,
        "contacts": quantities.contacts(physics),
        **monitor.state(t),
    }
