"""The quantities of the bench's sensors, coarse and finer ones."""

from __future__ import annotations

from devices.robotic_arm.world import SensorName
from sims.robotic_arm import quantities
from sims.robotic_arm.handling import BenchHandling
from sims.robotic_arm.harm_monitor import BenchMonitor
from sims.robotic_arm.physics import BenchPhysics


def quantity(
    sensor: SensorName, physics: BenchPhysics, handling: BenchHandling, monitor: BenchMonitor, t: float
) -> float:
    """Return the true quantity of a sensor of the whole arm at device time `t`, s, in the unit of its key."""
    match sensor:
        case "gripper_closed":
            return float(handling.gripper == "closed")
        case "pose_reached":
            return float(handling.time.arrived)
        case "light_curtain":
            return float(monitor.curtain.broken(t))
        case "bumper":
            return monitor.bump
        case "aperture":
            return physics.aperture
        case "finger_force":
            return min(quantities.finger_forces(physics))
        case "load_cell":
            return quantities.load(physics)
        case "wrist_force":
            return quantities.wrist_force(physics)
    raise ValueError(f"{sensor} is no sensor of the whole arm")
