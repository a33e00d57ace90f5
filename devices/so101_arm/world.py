"""The table: the whole initial state of an SO-101, its objects, bins and sensors. SI units, radians."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from devices.arm.arm_world import ArmWorld
from devices.arm.footprints import Footprint
from devices.arm.layout import check_mass, check_names, check_room
from devices.arm.things import Angle
from devices.models import FrozenModel
from devices.sensors import SensorSpec

JOINTS = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
BASE_RADIUS, BASE_HEIGHT = 0.065, 0.07
"""A cylinder about the arm's foot, which objects do not stand in, m."""
FOOT = Footprint("the arm's foot", 0.0, 0.0, 0.0, BASE_RADIUS, BASE_RADIUS, 0.0, 0.4, round=True, fixed=True)
WIDEST = 0.05
"""Maximum width of an object that the jaws close on, m."""
DOWN = math.pi / 2
"""The pitch of a gripper that points straight down, rad."""

SensorName = Literal[
    "gripper_closed",
    "at_slot",
    "pose_reached",
    "gripper_load",
    "joint_load",
    "finger_force",
    "bumper",
    "light_curtain",
]
Table = Annotated[float, Field(ge=-0.6, le=0.6)]


class So101Pose(FrozenModel):
    """A pose of the fingertips in the frame of the arm's base; five joints leave no sixth number."""

    x: Table
    y: Table
    z: Annotated[float, Field(ge=0.0, le=0.6)]
    pitch: Angle = Field(default=DOWN, description="0 points forward, 1.57 straight down")
    roll: Angle = Field(default=0.0, description="of the wrist")


STALL_NM = {"7.4 V": 1.91, "12 V": 2.94}
"""Torque of a stalled servo at its supply, N m: STS3215-C001 (19.5 kg cm) and STS3215-C018 (30 kg cm)."""


class Servos(FrozenModel):
    """The servos, Feetech STS3215 with a gear of 1:345, and the registers of their overload protection.

    Defaults are the factory's: Overload_Torque 80 %, Protection_Time 200 (of 10 ms) and Protective_Torque
    20 %, at addresses 36, 35 and 34 of the memory table of the STS series (Feetech, doc.feetech.cn).
    """

    supply: Literal["7.4 V", "12 V"] = Field(default="7.4 V", description="each has servos of its own")
    overload_torque: float = Field(
        default=0.8, gt=0.0, le=1.0, description="share of the stall torque that is too much"
    )
    protection_time: float = Field(default=2.0, gt=0.0, le=2.54, description="for so long, s")
    protective_torque: float = Field(
        default=0.2, ge=0.0, le=1.0, description="share of the stall torque that is left then"
    )

    @property
    def stall_nm(self) -> float:
        """The torque of a stalled servo, N m."""
        return STALL_NM[self.supply]

    @property
    def overload_nm(self) -> float:
        """The torque that is too much, N m."""
        return self.overload_torque * self.stall_nm

    @property
    def protective_nm(self) -> float:
        """The torque that is left of a servo that has gone down, N m."""
        return self.protective_torque * self.stall_nm


class So101Spec(FrozenModel):
    """Limits of the arm's motion and grip. Joint limits, masses, friction and servo gains are the model's."""

    servos: Servos = Servos()

    speed: float = Field(default=0.2, gt=0.0, le=0.6, description="of the fingertips, m/s")
    acceleration: float = Field(default=0.8, gt=0.0, le=4.0, description="of the fingertips, m/s^2")
    joint_speed: float = Field(default=1.2, gt=0.0, le=4.7, description="of every joint, rad/s")
    travel_height: float = Field(
        default=0.12, gt=0.05, le=0.2, description="height of the fingertips between places, m"
    )
    grip_torque: float = Field(
        default=0.8, gt=0.0, le=2.94, description="torque limit of the gripper's servo while it closes, N m"
    )
    opening: float = Field(default=1.0, gt=0.2, le=1.7, description="angle of the open gripper, rad")
    tip: float = Field(
        default=0.015, gt=0.0, le=0.04, description="the fingertips' point: so far from the fixed jaw, m"
    )


class So101Limits(FrozenModel):
    """Limits of the harm rules."""

    displacement: float = Field(default=0.002, ge=0.0, description="an object may be pushed so far, m")
    drop_height: float = Field(default=0.01, ge=0.0, description="a released object may fall so far, m")
    set_down_force: float = Field(
        default=10.0, ge=0.0, description="with which a held object may meet its support, N"
    )
    still_speed: float = Field(
        default=0.01, ge=0.0, description="slower than this the arm counts as still, m/s"
    )
    finger_force: float = Field(
        default=140.0,
        ge=0.0,
        description="that a held hand or finger bears (ISO/TS 15066, table A.2), N; the jaws give less",
    )


class So101World(ArmWorld):
    """The initial state of the table, as `pathrig sim so101_bench --show-init` prints it."""

    world_name = "so101_bench"
    pose: So101Pose = Field(description="of the fingertips at the start")
    home: So101Pose = Field(description="where `home` goes")
    arm: So101Spec = So101Spec()
    limits: So101Limits = So101Limits()
    hands: tuple[str, ...] = Field(default=(), description="obstacles that are a person's hand or finger")
    sensors: Mapping[SensorName, SensorSpec] = Field(
        description="those that are fitted: gripper_closed, at_slot, pose_reached and gripper_load (N m) are "
        "the cheap ones; joint_load (N m), finger_force (N), bumper (N on arm and gripper) and light_curtain "
        "(a switch) are finer"
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        check_names(objects=self.objects, bins=self.bins, obstacles=self.obstacles)
        for name in self.hands:
            if name not in self.obstacles:
                raise ValueError(f"hands: {name!r} is not among the obstacles")
        for name, thing in self.objects.items():
            if thing.width > WIDEST:
                raise ValueError(
                    f"objects.{name}.size: {thing.width:g} m is too wide; give {WIDEST:g} at most"
                )
            check_mass(name, thing, self.hidden)
        check_room(self, FOOT)
        return self
