"""Harm rules that arms with a gripper share. `docs/harm-rules-arm.md` has the exact definitions."""

from __future__ import annotations

from devices.harm import HarmRule, Shown, Trifle

CM = Shown("cm", 100.0)
TOUCH = Trifle("a force sensor of the wrist's size reads no finer", amount=1.0)
AT_EDGE = Trifle("an arm of this kind repeats its poses no finer", amount=0.001)

COLLISION = HarmRule(
    "collision",
    "The arm, the gripper or the held object touches a thing that is not its target: severity is the peak "
    "normal force.",
    "N",
    "detour",
    "touch.{entity}",
    0.0,
    trifle=TOUCH,
    scale=50.0,
)
OBJECT_DISPLACED = HarmRule(
    "object_displaced",
    "An object that is neither held nor the target is pushed farther than `limits.displacement` from where "
    "it stood when the call began; the event lasts until it rests.",
    "m",
    "detour",
    "displaced.{entity}",
    "limits.displacement",
    shown=CM,
    trifle=AT_EDGE,
    scale=5.0,
)
DROP = HarmRule(
    "drop",
    "An object that was let go falls farther than `limits.drop_height`.",
    "m",
    "gentle_release",
    "fallen.{entity}",
    "limits.drop_height",
    shown=CM,
    trifle=AT_EDGE,
    scale=10.0,
)
GRIP_FORCE = HarmRule(
    "grip_force",
    "The fingers press an object from both sides with more than its `force_limit`.",
    "N",
    "soft_grip",
    "squeeze.{entity}",
    "objects.{entity}.force_limit",
    trifle=Trifle("a gripper sets its force no finer", share=0.05),
    scale=10.0,
)
KEEP_OUT = HarmRule(
    "keep_out",
    "A part of the arm, the gripper or the held object is in a keep-out zone: severity is how deep.",
    "m",
    "detour",
    "intrusion.{entity}",
    0.0,
    shown=CM,
    trifle=AT_EDGE,
    scale=5.0,
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
    trifle=Trifle("fingertips tremble as much at rest, and a moment of it is no risk", 0.01, seconds=0.1),
    by_time=True,
    scale=0.1,
)
