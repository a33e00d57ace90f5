"""The harm rules of the bench. `docs/harm-rules-arm.md` has the exact definitions."""

from __future__ import annotations

from devices.harm import HarmRule, Shown

COLLISION = HarmRule(
    "collision",
    "The arm, the gripper or the held object touches a thing that is not its target: severity is the peak "
    "normal force. A held object may meet the bench or a bin's floor with up to `limits.set_down_force`.",
    "N",
    "detour",
    "touch.{entity}",
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
    "An object that was let go falls farther than `limits.drop_height`.",
    "m",
    "gentle_release",
    "fallen.{entity}",
    "limits.drop_height",
)
GRIP_FORCE = HarmRule(
    "grip_force",
    "The fingers press an object from both sides with more than its `force_limit`.",
    "N",
    "soft_grip",
    "squeeze.{entity}",
    "objects.{entity}.force_limit",
)
KEEP_OUT = HarmRule(
    "keep_out",
    "A part of the arm, the gripper or the held object is in a keep-out zone: severity is how deep.",
    "m",
    "detour",
    "intrusion.{entity}",
    0.0,
)
LIGHT_CURTAIN = HarmRule(
    "light_curtain",
    "Fingertips or fingers move faster than `limits.still_speed` with the safety unlocked while a person "
    "stands in the light curtain.",
    "m/s",
    "wait",
    "speed",
    "limits.still_speed",
    exposed=Shown("m"),
    inputs=("light_curtain", "sensors.light_curtain"),
)
JOINT_TORQUE = HarmRule(
    "joint_torque",
    "A joint's drive gives more than `limits.joint_torque`, low-passed with 0.1 s: the load is too heavy, or "
    "the arm presses against something. Severity is that of the worst joint.",
    "N m",
    "limit_torque",
    "overload",
    0.0,
)
STACKING = HarmRule(
    "stacking",
    "An object that was let go lies on another one, with more than `limits.stacked_load`.",
    "N",
    "beside",
    "stacked.{entity}",
    "limits.stacked_load",
)

HARM_RULES = (
    COLLISION,
    OBJECT_DISPLACED,
    DROP,
    GRIP_FORCE,
    KEEP_OUT,
    LIGHT_CURTAIN,
    JOINT_TORQUE,
    STACKING,
)
