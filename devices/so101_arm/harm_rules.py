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
LIGHT_CURTAIN = arm.LIGHT_CURTAIN
SERVO_OVERLOAD = HarmRule(
    "servo_overload",
    "A servo gives more than its overload torque for its protection time, and goes down to its protective "
    "torque: the load is too heavy, or the arm presses against something. Severity is the greatest excess.",
    "N m",
    "limit_torque",
    "overload.{entity}",
    0.0,
    trifle=Trifle("the servo counts its load in steps of 0.1 % of the stall torque", share=0.001),
    scale=0.5,
)

SELF_COLLISION = HarmRule(
    "self_collision",
    "A link of the arm overlaps another one that it is not joined to: severity is how deep.",
    "m",
    "detour",
    "overlap.{entity}",
    0.0,
    shown=arm.CM,
    trifle=Trifle("the links' hulls stand off the printed parts by as much", amount=0.003),
    scale=2.0,
)
CRUSHED_FINGER = HarmRule(
    "crushed_finger",
    "A hand in the way bears more than `limits.finger_force` after half a second of unbroken contact.",
    "N",
    "detour",
    "touch.{entity}",
    "limits.finger_force",
    inputs=("hands",),
    trifle=arm.TOUCH,
    scale=20.0,
)

HARM_RULES = (
    COLLISION,
    TABLE_CONTACT,
    OBJECT_DISPLACED,
    DROP,
    GRIP_FORCE,
    LIGHT_CURTAIN,
    SERVO_OVERLOAD,
    SELF_COLLISION,
    CRUSHED_FINGER,
)
