"""What an arm accepts of a place, and a goal allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from core_eval.path.patterns import Near, Pattern, Range
from devices.accepted import Patterns, around
from devices.arm.gripper_interlocks import BELOW_TOLERANCE
from devices.arm.things import GRIP_HEIGHT

SETTLES = 0.002
"""By how much an object may come to rest beside where it was let go, m."""


def accepted(world: Any, tool: str, arguments: Mapping[str, Any], goal: Patterns) -> Patterns:
    """Return the patterns of a pose: an object is at a place within `slot_radius` of it along each axis.

    It may be let go a little above its place, from where it does not drop too far. On the bench or in a bin,
    also below it, down to the least height that the arm accepts: its descent ends at the touch.
    """
    key = "objects" if tool == "place" else "pose"
    found = around(arguments, world.slot_radius, goal, key=key, margin=SETTLES)
    # Goals and slots bound each axis by itself.
    patterns: dict[str, Pattern] = {
        axis: replace(one, together=False) for axis, one in found.items() if isinstance(one, Near)
    }
    if tool == "place" and "z" in patterns:
        z, lowest = arguments["z"], GRIP_HEIGHT - BELOW_TOLERANCE
        low = lowest if z <= GRIP_HEIGHT + BELOW_TOLERANCE else z
        patterns["z"] = Range(low, z + world.limits.drop_height - SETTLES, near=z)
    return patterns
