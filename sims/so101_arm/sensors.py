"""The SO-101's coarse sensors and the finer ones that can be fitted: their quantities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Protocol

from devices.so101_arm.world import JOINTS, SensorName, So101World
from sims.coarse_sensors import CoarseSensor


class SensedSo101(Protocol):
    """The simulator as its sensors read it, so that they stay valid after `restore`."""

    @property
    def slots(self) -> Iterable[str]:
        """Names of the slots."""

    def occupied(self, slot: str) -> float:
        """Return 1 where something stands in the slot, else 0."""

    def joint_load(self, joint: str) -> float:
        """Return the torque of a joint's servo, N m."""

    def sensed(self, sensor: SensorName) -> float:
        """Return the true quantity of a sensor of the whole arm, in the unit of its key."""

    def forget_bump(self) -> None:
        """Clear the bumper's peak after a reading."""


def fitted(arm: SensedSo101, world: So101World) -> list[CoarseSensor]:
    """Return the sensors of a table, degraded by its hidden parameters."""
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


def _quantities(arm: SensedSo101, key: SensorName) -> Iterator[tuple[str, Callable[[], float]]]:
    """Return the names and quantities of one kind of sensor."""
    if key == "at_slot":
        for slot in arm.slots:
            yield f"{key}.{slot}", partial(arm.occupied, slot)
    elif key == "joint_load":
        for joint in JOINTS:
            yield f"{key}.{joint}", partial(arm.joint_load, joint)
    else:
        yield key, partial(arm.sensed, key)
