"""When the arm refuses a call, and what it says then. Every check raises `Refusal` before anything moves."""

from __future__ import annotations

import math

from devices.outcome import Refusal
from devices.robotic_arm import tolerances
from devices.robotic_arm.world import GRIP_HEIGHT, BenchWorld

BELOW_TOLERANCE = 0.005
"""A place pose may lie this far below the bench's own height for it, m: the descent ends at the touch."""


def require_unlocked(locked: bool) -> None:
    """The safety is unlocked."""
    if locked:
        raise Refusal("safety_locked", "The safety is locked. Call unlock_safety first.")


def require_thing(world: BenchWorld, name: str) -> None:
    """The name is that of an object or a bin."""
    if name not in world.objects and name not in world.bins:
        raise Refusal("unknown_object", f"There is no object or bin {name!r}; {_known(world)}.")


def require_object(world: BenchWorld, name: str) -> None:
    """The name is that of an object, so it can be picked."""
    if name in world.bins:
        raise Refusal("unknown_object", f"{name} is a bin and cannot be picked; {_known(world)}.")
    require_thing(world, name)


def require_empty(held: str | None) -> None:
    """The gripper holds nothing."""
    if held is not None:
        raise Refusal("gripper_not_empty", f"The gripper holds {held}. Place it first.")


def require_held(held: str | None) -> None:
    """The gripper holds something."""
    if held is None:
        raise Refusal("nothing_held", "The gripper holds nothing. Pick an object first.")


def require_reach(world: BenchWorld, x: float, y: float, z: float) -> None:
    """The fingertips can be there."""
    arm, far = world.arm, math.hypot(x, y)
    if z < 0.0:
        raise Refusal("below_bench", f"z = {z:g} is below the bench. Give a z of 0 or more.")
    if not arm.inner_reach - tolerances.REACH <= far <= arm.reach + tolerances.REACH:
        raise Refusal(
            "out_of_reach",
            f"x = {x:g}, y = {y:g} is {far:.3f} m from the base; the arm reaches from {arm.inner_reach:g} m "
            f"to {arm.reach:g} m.",
        )
    if z > arm.ceiling + tolerances.REACH:
        raise Refusal("out_of_reach", f"z = {z:g} is too high; the arm reaches up to {arm.ceiling:g} m.")


def require_place_height(z: float) -> None:
    """An object can stand on the bench or above it with its reference point at this height."""
    if z < GRIP_HEIGHT - BELOW_TOLERANCE:
        raise Refusal(
            "below_bench",
            f"z = {z:g} is too low: an object that stands on the bench has z = {GRIP_HEIGHT:g}. "
            "Use the z of get_object_pose.",
        )


def require_upright(name: str, upright: bool) -> None:
    """The object stands, so it can be gripped from above."""
    if not upright:
        raise Refusal("not_upright", f"{name} has fallen over, and the gripper cannot take it from above.")


def _known(world: BenchWorld) -> str:
    return f"the objects are {', '.join(world.objects)}, and the bins are {', '.join(world.bins)}"
