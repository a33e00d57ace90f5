"""The tools of the robotic arm. Metres and radians, in the frame of the arm's base."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field

from devices.device_type import DeviceType
from devices.tool import Effect, NoArguments, Reads, Tool, ToolArguments, ToolResult

Metres = Annotated[float, Field(ge=-5.0, le=5.0)]
Radians = Annotated[float, Field(ge=-2 * math.pi, le=2 * math.pi)]
Position = Annotated[float, Reads(0.001)]
"""As reported by the arm: m or rad, to three decimals."""


class ToolPose(ToolArguments):
    """Goal of the gripper's fingertips."""

    x: Metres = Field(description="forward, in metres")
    y: Metres = Field(description="left, in metres")
    z: Metres = Field(description="above the bench, in metres")
    yaw: Radians = Field(default=0.0, description="turn of the gripper, in radians")


class OneObject(ToolArguments):
    """An object by its name."""

    object_id: str = Field(description="a name from list_objects")


class SafetyState(ToolResult):
    """The safety lock after the call."""

    safety: Literal["locked", "unlocked"]


class Pose(ToolResult):
    """A pose in the base frame."""

    x: Position
    y: Position
    z: Position
    yaw: Position


class NamedPose(Pose):
    """The pose of an object or a bin."""

    name: str


class Gripper(ToolResult):
    """Whether the gripper is closed, and what it reports to hold."""

    gripper: Literal["open", "closed"]
    holding: bool


class Picked(Gripper):
    """The object that was picked."""

    object_id: str


class Placed(Pose):
    """Where the object was set down."""

    gripper: Literal["open", "closed"]


class Objects(ToolResult):
    """The names of the objects and of the bins."""

    objects: list[str]
    bins: list[str]


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
    Tool("close_gripper", "Close the gripper with its standard force.", NoArguments, Gripper, Effect.MOTION,
         inverse="open_gripper", sets=("gripper", "holding")),
    Tool("pick", "Pick an object: go above it, down, grip it and lift it. The gripper must be empty.",
         OneObject, Picked, Effect.MOTION, inverse="place", sets=("holding", "objects.{object_id}")),
    Tool("place", "Carry the held object to a pose, set it down there, let go and move up.",
         ToolPose, Placed, Effect.MOTION, inverse="pick", sets=("holding",)),
    Tool("home", "Move the arm to its rest pose. The safety must be unlocked.",
         NoArguments, Pose, Effect.MOTION, inverse="move_to", sets=("pose",)),
    Tool("sense_pose", "Read the pose of the gripper.", NoArguments, Pose, Effect.READ),
    Tool("sense_gripper", "Read the gripper: open or closed, holding or not.",
         NoArguments, Gripper, Effect.READ),
    Tool("list_objects", "List the names of the objects and the bins.", NoArguments, Objects, Effect.READ),
    Tool("get_object_pose", "Read the pose of an object or a bin.", OneObject, NamedPose, Effect.READ),
)  # fmt: skip

ROBOTIC_ARM = DeviceType(
    "robotic_arm",
    "An arm with a parallel gripper on a bench.",
    TOOLS,
    advice="pick finds an object by its name. To put it into a bin, read the bin's pose and place it there.",
)
