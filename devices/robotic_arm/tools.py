"""The tools of the robotic arm. Metres and radians, in the frame of the arm's base."""

from __future__ import annotations

from pydantic import Field

from devices.arm.gripper_tools import ADVICE, Metres, Point, Radians, TipPose, gripper_tools
from devices.device_type import DeviceType


class ToolPose(Point):
    """Goal of the gripper's fingertips."""

    z: Metres = Field(description="above the bench, in metres")
    yaw: Radians = Field(default=0.0, description="turn of the gripper, in radians")


ROBOTIC_ARM = DeviceType(
    "robotic_arm",
    "An arm with a parallel gripper on a bench.",
    gripper_tools(TipPose, ToolPose, ("pose", ToolPose), strength="force"),
    advice=ADVICE,
)
