"""The interlocks of the SO-101, and the messages of its refusals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from devices.interlocks import Check, Interlocks
from devices.outcome import Refusal
from devices.robotic_arm.gripper_interlocks import (
    empty_gripper,
    known_object,
    known_thing,
    something_held,
    unknown,
    unlocked,
    upright,
)
from devices.robotic_arm.interlocks import BELOW_TOLERANCE
from devices.robotic_arm.things import GRIP_HEIGHT
from devices.so101_arm.world import So101World

_Arguments = Mapping[str, Any]


@dataclass(frozen=True)
class So101View:
    """The state of an SO-101 that its interlocks check; None: not known.

    Attributes:
        world: the layout of the table.
        empty: whether the gripper holds nothing; `held`: the held object.
        upright: whether an object stands, so that it can be gripped from above.
        reachable: whether the arm reaches what a call of a tool asks of it.
    """

    world: So101World | None
    locked: bool | None = None
    empty: bool | None = None
    held: str | None = None
    upright: Callable[[str], bool | None] = unknown
    reachable: Callable[[str, _Arguments], bool | None] = unknown


def _place_height(_: So101View, arguments: _Arguments) -> None:
    if arguments["z"] < GRIP_HEIGHT - BELOW_TOLERANCE:
        raise Refusal(
            "below_table",
            f"z = {arguments['z']:g} is too low: an object that stands on the table has z = {GRIP_HEIGHT:g}. "
            "Use the z of get_object_pose.",
        )


def _in_reach(tool: str) -> Check[So101View]:
    def refuse(arm: So101View, arguments: _Arguments) -> None:
        if arguments.get("z", 0.0) < 0.0:
            raise Refusal("below_table", f"z = {arguments['z']:g} is below the table. Give a z of 0 or more.")
        if arm.reachable(tool, arguments) is False:
            raise Refusal(
                "out_of_reach",
                "The arm's joints do not allow that pose. Straight down it reaches from 0.11 m to 0.31 m in "
                "front of its base, up to 0.06 m above the table; with a pitch of 1.2 farther and higher.",
            )

    return Check("in_reach", refuse, always=True)


UNLOCKED: Check[So101View] = Check("unlocked", unlocked)

SO101_INTERLOCKS: Interlocks[So101View] = {
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

MOTIONS = frozenset(tool for tool, checks in SO101_INTERLOCKS.items() if UNLOCKED in checks)
"""The tools that move the arm."""
