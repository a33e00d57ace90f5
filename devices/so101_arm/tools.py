"""The tools of the SO-101. Metres and radians, in the frame of the arm's base."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field

from devices.device_type import DeviceType
from devices.robotic_arm.tools import (
    Gripper,
    Metres,
    NamedPose,
    Objects,
    OneObject,
    Picked,
    Placed,
    Position,
    Radians,
    SafetyState,
)
from devices.so101_arm.world import DOWN
from devices.tool import Effect, NoArguments, Reads, Tool, ToolArguments, ToolResult

Angle = Annotated[float, Reads(0.0015)]
"""As the servo's encoder of 4,096 steps tells it, rad."""
Load = Annotated[float, Reads(0.1)]
"""As the servo's register tells it: N m, to one decimal."""


class ToolPose(ToolArguments):
    """Goal of the fingertips. Five joints reach a point with a pitch and a roll."""

    x: Metres = Field(description="forward, in metres")
    y: Metres = Field(description="left, in metres")
    z: Metres = Field(description="above the table, in metres")
    pitch: Radians = Field(default=DOWN, description="0 points forward, 1.57 straight down, in radians")
    roll: Radians = Field(default=0.0, description="turn of the wrist, in radians")


class Place(ToolArguments):
    """Goal of the held object."""

    x: Metres = Field(description="forward, in metres")
    y: Metres = Field(description="left, in metres")
    z: Metres = Field(description="above the table, in metres; 0.02 stands on the table")
    yaw: Radians = Field(
        default=0.0, ge=-2 * math.pi, le=2 * math.pi, description="turn of the object, to a quarter turn"
    )


class Pose(ToolResult):
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


TOOLS = (
    Tool("unlock_safety", "Unlock the safety so that the arm may move.",
         NoArguments, SafetyState, Effect.WRITE, inverse="lock_safety", sets=("safety_locked",)),
    Tool("lock_safety", "Lock the safety. Nothing moves while it is locked.",
         NoArguments, SafetyState, Effect.WRITE, inverse="unlock_safety", sets=("safety_locked",),
         towards_safe=True),
    Tool("move_to", "Move the gripper in a straight line to a pose. The safety must be unlocked.",
         ToolPose, Pose, Effect.MOTION, inverse="move_to", sets=("pose",)),
    Tool("open_gripper", "Open the gripper and let go.", NoArguments, Gripper, Effect.MOTION,
         inverse="close_gripper", sets=("gripper", "holding")),
    Tool("close_gripper", "Close the gripper with its standard torque.", NoArguments, Gripper, Effect.MOTION,
         inverse="open_gripper", sets=("gripper", "holding")),
    Tool("pick", "Pick an object: go above it, down, grip it and lift it. The gripper must be empty.",
         OneObject, Picked, Effect.MOTION, inverse="place", sets=("holding", "objects.{object_id}")),
    Tool("place", "Carry the held object to a place, set it down there, let go and move up.",
         Place, Placed, Effect.MOTION, inverse="pick", sets=("holding",)),
    Tool("home", "Move the arm to its rest pose. The safety must be unlocked.",
         NoArguments, Pose, Effect.MOTION, inverse="move_to", sets=("pose",)),
    Tool("sense_pose", "Read the pose of the gripper.", NoArguments, Pose, Effect.READ),
    Tool("sense_joints", "Read angle (radians) and load (newton metres) of every joint's servo.",
         NoArguments, Joints, Effect.READ),
    Tool("sense_gripper", "Read the gripper: open or closed, holding or not.",
         NoArguments, Gripper, Effect.READ),
    Tool("list_objects", "List the names of the objects and the bins.", NoArguments, Objects, Effect.READ),
    Tool("get_object_pose", "Read the pose of an object or a bin.", OneObject, NamedPose, Effect.READ),
)  # fmt: skip

SO101_ARM = DeviceType(
    "so101_arm",
    "An SO-101, an arm of five joints with a gripper, on a table.",
    TOOLS,
    advice="pick finds an object by its name. To put it into a bin, read the bin's pose and place it there.",
)
