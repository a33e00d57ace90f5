"""What an arm accepts of a place, and a goal allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from core_eval.path.patterns import Near
from devices.accepted import Patterns, around
from devices.arm.gripper_interlocks import BELOW_TOLERANCE

SETTLES = 0.002
"""By how much an object may come to rest beside where it was let go, m."""


def accepted(world: Any, tool: str, arguments: Mapping[str, Any], goal: Patterns) -> Patterns:
    """Return the patterns of a pose: an object is at a place within `slot_radius` of it along each axis.

    In height it is let go up to the depth at which the arm still descends to the touch, or that much higher.
    """
    key = "objects" if tool == "place" else "pose"
    found = around(arguments, world.slot_radius, goal, key=key, margin=SETTLES)
    near = {axis: one for axis, one in found.items() if isinstance(one, Near)}
    if tool == "place" and "z" in near:
        near["z"] = replace(near["z"], tolerance=min(near["z"].tolerance, BELOW_TOLERANCE))
    # Goals and slots bound each axis by itself.
    return {axis: replace(one, together=False) for axis, one in near.items()}
