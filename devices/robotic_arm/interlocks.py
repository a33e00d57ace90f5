"""The interlocks of the robotic arm, and the messages of its refusals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from devices.interlocks import Check, Interlocks
from devices.outcome import Refusal
from devices.robotic_arm import tolerances
from devices.robotic_arm.gripper_interlocks import (
    empty_gripper,
    known_object,
    known_thing,
    something_held,
    unknown,
    unlocked,
    upright,
)
from devices.robotic_arm.things import GRIP_HEIGHT
from devices.robotic_arm.world import BenchWorld

BELOW_TOLERANCE = 0.005
"""Maximum depth of a place pose below the bench's own height for it, m: the descent ends at the touch."""

Point = tuple[float, float, float]


def tip_of_move(tool: str, arguments: Mapping[str, Any]) -> Point | None:
    """Return the goal of the fingertips, m, if the call's arguments alone give it."""
    return (arguments["x"], arguments["y"], arguments["z"]) if tool == "move_to" else None


@dataclass(frozen=True)
class ArmView:
    """The state of an arm that its interlocks check; None: not known.

    Attributes:
        world: the layout of the bench.
        empty: whether the gripper holds nothing; `held`: the held object.
        upright: whether an object stands, so that it can be gripped from above.
        tip: the goal of the fingertips in a call of a tool, m.
    """

    world: BenchWorld | None
    locked: bool | None = None
    empty: bool | None = None
    held: str | None = None
    upright: Callable[[str], bool | None] = unknown
    tip: Callable[[str, Mapping[str, Any]], Point | None] = tip_of_move


_Arguments = Mapping[str, Any]


def _place_height(_: ArmView, arguments: _Arguments) -> None:
    if arguments["z"] < GRIP_HEIGHT - BELOW_TOLERANCE:
        raise Refusal(
            "below_bench",
            f"z = {arguments['z']:g} is too low: an object that stands on the bench has z = {GRIP_HEIGHT:g}. "
            "Use the z of get_object_pose.",
        )


def _in_reach(tool: str) -> Check[ArmView]:
    def refuse(view: ArmView, arguments: _Arguments) -> None:
        tip = view.tip(tool, arguments)
        if view.world is None or tip is None:
            return
        (x, y, z), arm = tip, view.world.arm
        far = math.hypot(x, y)
        if z < 0.0:
            raise Refusal("below_bench", f"z = {z:g} is below the bench. Give a z of 0 or more.")
        if not arm.inner_reach - tolerances.REACH <= far <= arm.reach + tolerances.REACH:
            raise Refusal(
                "out_of_reach",
                f"x = {x:g}, y = {y:g} is {far:.3f} m from the base; the arm reaches from "
                f"{arm.inner_reach:g} m to {arm.reach:g} m.",
            )
        if z > arm.ceiling + tolerances.REACH:
            raise Refusal("out_of_reach", f"z = {z:g} is too high; the arm reaches up to {arm.ceiling:g} m.")

    return Check("in_reach", refuse, always=True)


UNLOCKED: Check[ArmView] = Check("unlocked", unlocked)

ARM_INTERLOCKS: Interlocks[ArmView] = {
    "move_to": (UNLOCKED, _in_reach("move_to")),
    "home": (UNLOCKED,),
    "open_gripper": (UNLOCKED,),
    "close_gripper": (UNLOCKED,),
    "pick": (
        UNLOCKED,
        Check("known_object", known_object, always=True),
        Check("empty_gripper", empty_gripper),
        Check("upright", upright, always=True),
        _in_reach("pick"),
    ),
    "place": (
        UNLOCKED,
        Check("something_held", something_held),
        Check("place_height", _place_height, always=True),
        _in_reach("place"),
    ),
    "get_object_pose": (Check("known_thing", known_thing, always=True),),
}
"""Each tool's checks, in the arm's order. `always`: no arm can do it, even in a forced call."""

MOTIONS = frozenset(tool for tool, checks in ARM_INTERLOCKS.items() if UNLOCKED in checks)
