"""Safeguards of people and bench: keep-out zones, and the limits of the harm rules."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from devices.arm.things import Block
from devices.models import FrozenModel

AxisName = Literal["axis1", "axis2", "axis3", "axis4", "axis5", "axis6"]
AXES: tuple[AxisName, ...] = ("axis1", "axis2", "axis3", "axis4", "axis5", "axis6")
Positive = Annotated[float, Field(gt=0.0)]

JOINT_SPEED: Mapping[AxisName, float] = dict(zip(AXES, (3.0, 3.0, 3.0, 6.0, 6.0, 6.0), strict=True))
JOINT_TORQUE: Mapping[AxisName, float] = dict(zip(AXES, (108.0, 108.0, 108.0, 39.0, 39.0, 39.0), strict=True))
PEAK_TORQUE: Mapping[AxisName, float] = dict(zip(AXES, (157.0, 157.0, 157.0, 54.0, 54.0, 54.0), strict=True))
"""Limits for the average torque and for the repeated peak torque, N m, of the gears that such joints have:
CSF-25-100 and CSF-17-100 (Harmonic Drive, component sets CSF). The arm's own weight is part of both."""


def each_axis(given: Mapping[AxisName, float], default: Mapping[AxisName, float]) -> tuple[float, ...]:
    """Return one number for each axis, in their order; missing axes have their default."""
    return tuple(given.get(axis, default[axis]) for axis in AXES)


class Zone(Block):
    """A keep-out box for arm and load; its pose is the middle of its base."""

    size: tuple[Annotated[float, Field(gt=0.0, le=3.0)], ...] = Field(
        min_length=3, max_length=3, description="length, width and height"
    )

    def nearest(self) -> float:
        """Return its horizontal distance from the base's axis, m."""
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        along, across = abs(c * self.x + s * self.y), abs(-s * self.x + c * self.y)
        return math.hypot(max(0.0, along - self.size[0] / 2), max(0.0, across - self.size[1] / 2))


class Limits(FrozenModel):
    """Limits of the harm rules."""

    displacement: float = Field(default=0.002, ge=0.0, description="an object may be pushed so far, m")
    drop_height: float = Field(default=0.01, ge=0.0, description="a released object may fall so far, m")
    set_down_force: float = Field(
        default=40.0, ge=0.0, description="with which a held object may meet its support, N"
    )
    still_speed: float = Field(
        default=0.01, ge=0.0, description="slower than this the arm counts as still, m/s"
    )
    joint_torque: Mapping[AxisName, Positive] = Field(
        default=JOINT_TORQUE, description="mean of each joint's drive over a motion, N m"
    )
    peak_torque: Mapping[AxisName, Positive] = Field(
        default=PEAK_TORQUE, description="of each joint's drive at any moment, N m"
    )
    stacked_load: float = Field(
        default=0.2, ge=0.0, description="that an object set down may lay on another one, N"
    )

    def torques(self) -> tuple[float, ...]:
        """Return the limits of the six joints' means in their order, N m."""
        return each_axis(self.joint_torque, JOINT_TORQUE)

    def peaks(self) -> tuple[float, ...]:
        """Return the limits of their peaks, N m."""
        return each_axis(self.peak_torque, PEAK_TORQUE)
