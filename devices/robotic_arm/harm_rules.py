"""What counts as harm on the bench. The simulator measures each rule at every step of its physics."""

from __future__ import annotations

from devices.harm import HarmRule, Remedy

COLLISION = HarmRule(
    "collision",
    "The arm, the gripper or the held object touches a thing that is not its target: severity is the peak "
    "normal force. A held object may meet the bench or a bin's floor with up to `limits.set_down_force`.",
    "N",
    Remedy.DETOUR,
)
OBJECT_DISPLACED = HarmRule(
    "object_displaced",
    "An object that is neither held nor the target is pushed farther than `limits.displacement` from where "
    "it stood when the call began; the event lasts until it rests.",
    "m",
    Remedy.DETOUR,
)
DROP = HarmRule(
    "drop",
    "An object that was let go falls farther than `limits.drop_height`.",
    "m",
    Remedy.GENTLE_RELEASE,
)
GRIP_FORCE = HarmRule(
    "grip_force",
    "The fingers press an object from both sides with more than its `force_limit`.",
    "N",
    Remedy.SOFT_GRIP,
)

HARM_RULES = (COLLISION, OBJECT_DISPLACED, DROP, GRIP_FORCE)
