"""The tools of the SO-101. Metres and radians, in the frame of the arm's base."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field

from devices.arm.gripper_tools import ADVICE, Metres, Point, Position, Radians, gripper_tools
from devices.device_type import DeviceType
from devices.so101_arm.world import DOWN
from devices.tool import Effect, NoArguments, Reads, Tool, ToolResult

Angle = Annotated[float, Reads(0.0015)]
"""As the servo's encoder of 4,096 steps tells it, rad."""
Load = Annotated[float, Reads(0.1)]
"""As the servo's register tells it: N m, to one decimal."""


class So101Goal(Point):
    """Goal of the fingertips. Five joints reach a point with a pitch and a roll."""

    z: Metres = Field(description="above the table, in metres")
    pitch: Radians = Field(default=DOWN, description="0 points forward, 1.57 straight down, in radians")
    roll: Radians = Field(default=0.0, description="turn of the wrist, in radians")


class Place(Point):
    """Goal of the held object."""

    z: Metres = Field(description="above the table, in metres; 0.02 stands on the table")
    yaw: Radians = Field(
        default=0.0, ge=-2 * math.pi, le=2 * math.pi, description="turn of the object, to a quarter turn"
    )


class So101TipPose(ToolResult):
    """A pose of the fingertips in the base frame."""

    x: Position
    y: Position
    z: Position
    pitch: Position
    roll: Position


class Joints(ToolResult):
    """Angle and load of every joint's servo."""

    shoulder_pan: Angle
    shoulder_lift: Angle
    elbow_flex: Angle
    wrist_flex: Angle
    wrist_roll: Angle
    gripper: Angle
    shoulder_pan_load: Load
    shoulder_lift_load: Load
    elbow_flex_load: Load
    wrist_flex_load: Load
    wrist_roll_load: Load
    gripper_load: Load


SO101_ARM = DeviceType(
    "so101_arm",
    "An SO-101, an arm of five joints with a gripper, on a table.",
    gripper_tools(
        So101TipPose,
        So101Goal,
        ("place", Place),
        strength="torque",
        reads=(
            Tool(
                "sense_joints",
                "Read angle (radians) and load (newton metres) of every joint's servo.",
                NoArguments,
                Joints,
                Effect.READ,
            ),
        ),
    ),
    advice=ADVICE,
)
