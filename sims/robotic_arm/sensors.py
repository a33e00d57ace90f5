"""The arm's coarse sensors and the finer ones that can be fitted: their quantities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Protocol

from devices.robotic_arm.safeguards import AXES
from devices.robotic_arm.world import BenchWorld, SensorName
from sims.coarse_sensors import CoarseSensor
from sims.robotic_arm import quantities
from sims.robotic_arm.handling import Handling
from sims.robotic_arm.harm_monitor import HarmMonitor
from sims.robotic_arm.physics import BenchPhysics


class SensedArm(Protocol):
    """The simulator as its sensors read it, so that they stay valid after `restore`."""

    @property
    def slots(self) -> Iterable[str]:
        """Names of the slots."""

    def occupied(self, slot: str) -> float:
        """Return 1 where something stands in the slot, else 0."""

    def joint_torque(self, k: int) -> float:
        """Return the torque of the k-th joint, N m."""

    def sensed(self, sensor: SensorName) -> float:
        """Return the true quantity of a sensor of the whole arm, in the unit of its key."""

    def forget_bump(self) -> None:
        """Clear the bumper's peak after a reading."""


def fitted(arm: SensedArm, world: BenchWorld) -> list[CoarseSensor]:
    """Return the sensors of a bench, degraded by its hidden parameters."""
    hidden = world.hidden
    return [
        CoarseSensor(
            name,
            spec.worsened(hidden.sensor_noise, hidden.dropout),
            quantity,
            after=arm.forget_bump if key == "bumper" else None,
        )
        for key, spec in world.sensors.items()
        for name, quantity in _quantities(arm, key)
    ]


def _quantities(arm: SensedArm, key: SensorName) -> Iterator[tuple[str, Callable[[], float]]]:
    """Return the names and quantities of one kind of sensor."""
    if key == "at_slot":
        for slot in arm.slots:
            yield f"{key}.{slot}", partial(arm.occupied, slot)
    elif key == "joint_current":
        for k in range(len(AXES)):
            yield f"{key}.{k + 1}", partial(arm.joint_torque, k)
    else:
        yield key, partial(arm.sensed, key)


def quantity(
    sensor: SensorName, physics: BenchPhysics, handling: Handling, monitor: HarmMonitor, t: float
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
