"""The bench: the whole initial state of the arm, its objects, its bins and its sensors. SI units, radians."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, Self

from pydantic import Field, model_validator

from devices.arm.arm_world import ArmWorld
from devices.arm.footprints import Footprint
from devices.arm.layout import check_mass, check_names, check_room
from devices.arm.things import Angle, Coordinate, Height, Name
from devices.models import FrozenModel
from devices.robotic_arm.safeguards import JOINT_SPEED, AxisName, Limits, Positive, Zone, each_axis
from devices.sensors import SensorSpec

COLUMN_RADIUS = 0.08
"""Radius of the arm's column, which stands on the bench round the base's axis, m."""
COLUMN = Footprint(
    "the arm's column", 0.0, 0.0, 0.0, COLUMN_RADIUS, COLUMN_RADIUS, 0.0, 0.4, round=True, fixed=True
)


SensorName = Literal[
    "gripper_closed",
    "at_slot",
    "pose_reached",
    "light_curtain",
    "bumper",
    "aperture",
    "finger_force",
    "load_cell",
    "wrist_force",
    "joint_current",
]


class ToolPoint(FrozenModel):
    """A pose of the fingertips in the frame of the arm's base."""

    x: Coordinate
    y: Coordinate
    z: Height
    yaw: Angle = 0.0


class ArmSpec(FrozenModel):
    """Limits of the arm's motion and grip."""

    reach: float = Field(
        default=1.1, gt=0.3, le=1.1, description="farthest fingertips from the base's axis, m"
    )
    inner_reach: float = Field(default=0.2, ge=0.2, description="nearest fingertips to the base's axis, m")
    ceiling: float = Field(default=0.72, gt=0.3, le=0.72, description="highest fingertips, m")
    travel_height: float = Field(
        default=0.25, gt=0.1, description="height of the fingertips between places, m"
    )
    speed: float = Field(default=0.5, gt=0.0, le=1.0, description="of the fingertips, m/s")
    acceleration: float = Field(default=2.0, gt=0.0, le=4.0, description="of the fingertips, m/s^2")
    yaw_speed: float = Field(default=2.0, gt=0.0, le=4.0, description="rad/s")
    joint_speed: Mapping[AxisName, Positive] = Field(
        default=JOINT_SPEED, description="of each joint, rad/s; moves that would need more take longer"
    )
    grip_force: float = Field(
        default=40.0, gt=0.0, le=60.0, description="close_gripper's standard force, N per finger"
    )
    protective_stop: float = Field(
        default=150.0, gt=0.0, description="force from outside at which the arm stops itself, N"
    )
    opening: float = Field(default=0.12, gt=0.02, le=0.14, description="between the open fingers, m")

    def joint_speeds(self) -> tuple[float, ...]:
        """Return the speed limits of the six joints in their order, rad/s."""
        return each_axis(self.joint_speed, JOINT_SPEED)


class BenchWorld(ArmWorld):
    """The initial state of the bench, as `pathrig sim robotic_arm --show-init` prints it."""

    world_name = "robotic_arm"
    pose: ToolPoint = Field(description="of the fingertips at the start")
    home: ToolPoint = Field(description="where `home` goes")
    zones: Mapping[Name, Zone] = Field(
        default_factory=dict, description="that arm and load are to stay out of"
    )
    arm: ArmSpec = ArmSpec()
    limits: Limits = Limits()
    sensors: Mapping[SensorName, SensorSpec] = Field(
        description="those that are fitted: gripper_closed, at_slot, pose_reached and light_curtain are the "
        "cheap ones; aperture (m), finger_force (N), load_cell (kg), wrist_force (N), joint_current (a "
        "joint's drive, N m) and bumper (N on arm and gripper) are finer"
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        check_names(objects=self.objects, bins=self.bins, obstacles=self.obstacles, zones=self.zones)
        for name, thing in self.objects.items():
            check_mass(name, thing, self.hidden)
            if thing.width > self.arm.opening - 0.01:
                raise ValueError(
                    f"objects.{name}.size: {thing.width:g} m is too wide for the gripper, "
                    f"which opens {self.arm.opening:g} m"
                )
        for key, point in (("pose", self.pose), ("home", self.home)):
            far = math.hypot(point.x, point.y)
            if not self.arm.inner_reach <= far <= self.arm.reach or point.z > self.arm.ceiling:
                raise ValueError(f"{key}: out of the arm's reach")
        check_room(self, COLUMN)
        return self
