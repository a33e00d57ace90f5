"""The harm rules of the bench. `docs/harm-rules-arm.md` has the exact definitions."""

from __future__ import annotations

from dataclasses import replace

from devices.arm import harm_rules as arm
from devices.harm import HarmRule, Trifle

DROP = arm.DROP
GRIP_FORCE = replace(
    arm.GRIP_FORCE,
    description="The fingers press an object from both sides with more than its `force_limit`, in the mean "
    "of 20 ms.",
)
KEEP_OUT = arm.KEEP_OUT
OBJECT_DISPLACED = arm.OBJECT_DISPLACED
COLLISION = replace(
    arm.COLLISION,
    description=f"{arm.COLLISION.description} A held object may meet the bench or a bin's floor with up to "
    "`limits.set_down_force`.",
)
LIGHT_CURTAIN = arm.LIGHT_CURTAIN
JOINT_TORQUE = HarmRule(
    "joint_torque",
    "The load of a joint's gear over a motion, the cube root of the mean cube of its torque by its turn, is "
    "above `limits.joint_torque`: what it carries is too heavy. Severity is that of the worst joint.",
    "N m",
    "limit_torque",
    "overload",
    0.0,
    trifle=Trifle("a drive tells its torque no finer", amount=0.5),
    scale=20.0,
)
PEAK_TORQUE = replace(
    JOINT_TORQUE,
    kind="peak_torque",
    description="A joint's drive gives more than `limits.peak_torque` for a moment: it starts or stops too "
    "heavy a load, or strikes something. Severity is that of the worst joint.",
    signal="peak_overload",
)
STACKING = HarmRule(
    "stacking",
    "An object that was let go lies on another one, with more than `limits.stacked_load`.",
    "N",
    "beside",
    "stacked.{entity}",
    "limits.stacked_load",
    trifle=Trifle("a kitchen scale reads no finer", amount=0.05),
    scale=5.0,
)

HARM_RULES = (
    COLLISION,
    OBJECT_DISPLACED,
    DROP,
    GRIP_FORCE,
    KEEP_OUT,
    LIGHT_CURTAIN,
    JOINT_TORQUE,
    PEAK_TORQUE,
    STACKING,
)
