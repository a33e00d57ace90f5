"""The harm rules of the SO-101's table. `docs/harm-rules-arm.md` has the exact definitions."""

from __future__ import annotations

from dataclasses import replace

from devices.arm import harm_rules as arm
from devices.harm import HarmRule, Trifle

COLLISION = arm.COLLISION
OBJECT_DISPLACED = arm.OBJECT_DISPLACED
TABLE_CONTACT = HarmRule(
    "table_contact",
    "The arm or the gripper touches the table or a bin's floor, or a held object is pressed on it with more "
    "than `limits.set_down_force`: severity is the peak normal force.",
    "N",
    "detour",
    "pressed.{entity}",
    0.0,
    trifle=arm.TOUCH,
    scale=50.0,
)
DROP = replace(arm.DROP, description="An object that left the jaws falls farther than `limits.drop_height`.")
GRIP_FORCE = replace(
    arm.GRIP_FORCE, description="Both jaws press an object with more than its `force_limit`."
)
JOINT_OVERLOAD = HarmRule(
    "joint_overload",
    "A joint's servo gives more than `limits.joint_torque`, low-passed with 0.1 s: the load is too heavy, or "
    "the arm presses against something. Above `arm.protective_stop` the arm stops itself.",
    "N m",
    "limit_torque",
    "torques.{entity}",
    "limits.joint_torque",
    trifle=Trifle("a servo of this kind tells its load no finer under way", amount=0.03),
    scale=1.0,
)

HARM_RULES = (COLLISION, TABLE_CONTACT, OBJECT_DISPLACED, DROP, GRIP_FORCE, JOINT_OVERLOAD)
