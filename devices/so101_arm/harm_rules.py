"""The harm rules of the SO-101's table. `docs/harm-rules-arm.md` has the exact definitions."""

from __future__ import annotations

from devices.harm import HarmRule

COLLISION = HarmRule(
    "collision",
    "The arm, the gripper or the held object touches a thing that is not its target: severity is the peak "
    "normal force.",
    "N",
    "detour",
    "touch.{entity}",
    0.0,
)
TABLE_CONTACT = HarmRule(
    "table_contact",
    "The arm or the gripper touches the table or a bin's floor, or a held object is pressed on it with more "
    "than `limits.set_down_force`: severity is the peak normal force.",
    "N",
    "detour",
    "pressed.{entity}",
    0.0,
)
OBJECT_DISPLACED = HarmRule(
    "object_displaced",
    "An object that is neither held nor the target is pushed farther than `limits.displacement` from where "
    "it stood when the call began; the event lasts until it rests.",
    "m",
    "detour",
    "displaced.{entity}",
    "limits.displacement",
)
DROP = HarmRule(
    "drop",
    "An object that left the jaws falls farther than `limits.drop_height`.",
    "m",
    "gentle_release",
    "fallen.{entity}",
    "limits.drop_height",
)
GRIP_FORCE = HarmRule(
    "grip_force",
    "Both jaws press an object with more than its `force_limit`.",
    "N",
    "soft_grip",
    "squeeze.{entity}",
    "objects.{entity}.force_limit",
)
JOINT_OVERLOAD = HarmRule(
    "joint_overload",
    "A joint's servo gives more than `limits.joint_torque`, low-passed with 0.1 s: the load is too heavy, or "
    "the arm presses against something. Above `arm.protective_stop` the arm stops itself.",
    "N m",
    "limit_torque",
    "torques.{entity}",
    "limits.joint_torque",
)

HARM_RULES = (COLLISION, TABLE_CONTACT, OBJECT_DISPLACED, DROP, GRIP_FORCE, JOINT_OVERLOAD)
