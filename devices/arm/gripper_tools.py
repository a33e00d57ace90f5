"""The tools that arms with a gripper share: their arguments, results and texts."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field

from devices.tool import WAIT, Effect, NoArguments, Reads, Tool, ToolArguments, ToolResult

Metres = Annotated[float, Field(ge=-5.0, le=5.0)]
Radians = Annotated[float, Field(ge=-2 * math.pi, le=2 * math.pi)]
Position = Annotated[float, Reads(0.001)]
"""As reported by the arm: m or rad, to three decimals."""


class Point(ToolArguments):
    """A goal on the bench."""

    x: Metres = Field(description="forward, in metres")
    y: Metres = Field(description="left, in metres")


class OneObject(ToolArguments):
    """An object by its name."""

    object_id: str = Field(description="a name from list_objects")


class SafetyState(ToolResult):
    """The safety lock after the call."""

    safety: Literal["locked", "unlocked"]


class TipPose(ToolResult):
    """A pose in the base frame."""

    x: Position
    y: Position
    z: Position
    yaw: Position


class ThingPose(TipPose):
    """The pose of an object or a bin."""

    name: str


class Gripper(ToolResult):
    """Whether the gripper is closed, and what it reports to hold."""

    gripper: Literal["open", "closed"]
    holding: bool


class Picked(Gripper):
    """The object that was picked."""

    object_id: str


class Placed(TipPose):
    """Where the object was set down."""

    gripper: Literal["open", "closed"]


class Objects(ToolResult):
    """The names of the objects and of the bins."""

    objects: list[str]
    bins: list[str]


def gripper_tools(
    pose: type[ToolResult],
    goal: type[ToolArguments],
    place: tuple[str, type[ToolArguments]],
    *,
    strength: str,
    reads: tuple[Tool, ...] = (),
) -> tuple[Tool, ...]:
    """Return the tools of an arm with a gripper, in the order of the model's prompt.

    Args:
        pose: the result that tells the fingertips' pose.
        goal: the arguments of `move_to`.
        place: what `place` carries a held object to, and its arguments.
        strength: the standard with which the gripper closes.
        reads: further tools that read the arm.
    """
    where, put = place
    return (
        Tool("unlock_safety", "Unlock the safety so that the arm may move.",
             NoArguments, SafetyState, Effect.WRITE, inverse="lock_safety", sets=("safety_locked",)),
        Tool("lock_safety", "Lock the safety. Nothing moves while it is locked.",
             NoArguments, SafetyState, Effect.SAFE, inverse="unlock_safety", sets=("safety_locked",)),
        Tool("move_to", "Move the gripper in a straight line to a pose. The safety must be unlocked.",
             goal, pose, Effect.MOTION, inverse="move_to", sets=("pose",)),
        Tool("open_gripper", "Open the gripper and let go.", NoArguments, Gripper, Effect.MOTION,
             inverse="close_gripper", sets=("gripper", "holding")),
        Tool("close_gripper", f"Close the gripper with its standard {strength}.", NoArguments, Gripper,
             Effect.MOTION, inverse="open_gripper", sets=("gripper", "holding")),
        Tool("pick", "Pick an object: go above it, down, grip it and lift it. The gripper must be empty.",
             OneObject, Picked, Effect.MOTION, inverse="place", sets=("holding", "objects.{object_id}")),
        Tool("place", f"Carry the held object to a {where}, set it down there, let go and move up.",
             put, Placed, Effect.MOTION, inverse="pick", sets=("holding",)),
        Tool("home", "Move the arm to its rest pose. The safety must be unlocked.",
             NoArguments, pose, Effect.MOTION, inverse="move_to", sets=("pose",), retreat=True),
        Tool("sense_pose", "Read the pose of the gripper.", NoArguments, pose, Effect.READ),
        *reads,
        Tool("sense_gripper", "Read the gripper: open or closed, holding or not.",
             NoArguments, Gripper, Effect.READ),
        Tool("list_objects", "List the names of the objects and the bins.",
             NoArguments, Objects, Effect.READ),
        Tool("get_object_pose", "Read the pose of an object or a bin.", OneObject, ThingPose, Effect.READ),
        WAIT,
    )  # fmt: skip


ADVICE = "pick finds an object by its name. To put it into a bin, read the bin's pose and place it there."
"""For the operator of such an arm."""
