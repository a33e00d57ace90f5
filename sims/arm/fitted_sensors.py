"""The sensors that a world fits to an arm with a gripper."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Protocol

from devices.arm.hidden import BenchHidden
from devices.sensors import SensorSpec
from sims.coarse_sensors import CoarseSensor


class SensedArm(Protocol):
    """The simulator as its sensors read it, so that they stay valid after `restore`."""

    @property
    def slots(self) -> tuple[str, ...]:
        """Names of the slots."""

    def occupied(self, slot: str) -> float:
        """Return 1 where something stands in the slot, else 0."""

    def sensed(self, sensor: Any) -> float:
        """Return the true quantity of a sensor of the whole arm, in the unit of its key."""

    def forget_bump(self) -> None:
        """Clear the bumper's peak after a reading."""


def fitted(
    arm: SensedArm,
    specs: Mapping[Any, SensorSpec],
    hidden: BenchHidden,
    joints: Mapping[str, Callable[[], float]],
) -> list[CoarseSensor]:
    """Return the sensors, degraded by hidden parameters.

    Args:
        arm: what they sense.
        specs: those that the world fits, by their keys.
        hidden: of the world.
        joints: the quantities of a sensor of each joint, by its full name `KEY.JOINT`.
    """

    def quantities(key: str) -> Iterator[tuple[str, Callable[[], float]]]:
        of_joints = [(name, read) for name, read in joints.items() if name.split(".")[0] == key]
        if key == "at_slot":
            for slot in arm.slots:
                yield f"{key}.{slot}", partial(arm.occupied, slot)
        elif of_joints:
            yield from of_joints
        else:
            yield key, partial(arm.sensed, key)

    return [
        CoarseSensor(
            name,
            spec.worsened(hidden.sensor_noise, hidden.dropout),
            quantity,
            after=arm.forget_bump if key == "bumper" else None,
        )
        for key, spec in specs.items()
        for name, quantity in quantities(key)
    ]
