"""The arm's coarse sensors, and the finer ones that can be fitted: what each of them senses."""

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
    """The arm as its sensors read it: through the simulator, so that they outlive `restore`."""

    @property
    def slots(self) -> Iterable[str]:
        """Names of the slots."""

    def occupied(self, slot: str) -> float:
        """1 where something stands in the slot, else 0."""

    def joint_torque(self, k: int) -> float:
        """Torque of the k-th joint, N m."""

    def sensed(self, sensor: SensorName) -> float:
        """What a sensor of the whole arm senses, in the unit of its key."""

    def forget_bump(self) -> None:
        """The bumper has been read."""


def fitted(arm: SensedArm, world: BenchWorld) -> list[CoarseSensor]:
    """The sensors that a bench has, worsened as its hidden parameters say."""
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
    """The names and quantities of one kind of sensor."""
    if key == "at_slot":
        for slot in arm.slots:
            yield f"{key}.{slot}", partial(arm.occupied, slot)
    elif key == "joint_current":
        for k in range(len(AXES)):
            yield f"{key}.{k + 1}", partial(arm.joint_torque, k)
    else:
        yield key, partial(arm.sensed, key)


def quantity(
    sensor: SensorName, physics: BenchPhysics, handling: Handling, watch: HarmMonitor, t: float
) -> float:
    """What a sensor of the whole arm senses at device time `t`, s, true, in the unit of its key."""
    match sensor:
        case "gripper_closed":
            return float(handling.gripper == "closed")
        case "pose_reached":
            return float(handling.arrived)
        case "light_curtain":
            return float(watch.curtain.broken(t))
        case "bumper":
            return watch.bump
        case "aperture":
            return physics.aperture
        case "finger_force":
            return min(quantities.finger_forces(physics))
        case "load_cell":
            return quantities.load(physics)
        case "wrist_force":
            return quantities.wrist_force(physics)
    raise ValueError(f"{sensor} is no sensor of the whole arm")
