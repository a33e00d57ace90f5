"""The interlocks that arms with a gripper share: what it holds, and what there is to take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from devices.arm.arm_world import ArmWorld
from devices.arm.things import GRIP_HEIGHT
from devices.interlocks import Check, Interlocks
from devices.outcome import Refusal

BELOW_TOLERANCE = 0.005
"""Maximum depth of a place pose below the surface's own height for it, m: the descent ends at the touch."""

_Arguments = Mapping[str, Any]
Refuse = Callable[[Any, Mapping[str, Any]], None]


def unknown(*_: Any) -> None:
    """Answer that a thing is not known."""


@dataclass(frozen=True)
class GripperView:
    """The state of an arm that these checks read; None: not known.

    Attributes:
        world: the layout of the bench.
        empty: whether the gripper holds nothing; `held`: the held object.
        upright: whether an object stands, so that it can be gripped from above.
    """

    world: Any
    locked: bool | None = None
    empty: bool | None = None
    held: str | None = None
    upright: Callable[[str], bool | None] = unknown


def _unlocked(arm: GripperView, _: _Arguments) -> None:
    if arm.locked:
        raise Refusal("safety_locked", "The safety is locked. Call unlock_safety first.")


def _known_thing(arm: GripperView, arguments: _Arguments) -> None:
    world, name = arm.world, arguments["object_id"]
    if world is not None and name not in world.objects and name not in world.bins:
        raise Refusal("unknown_object", f"There is no object or bin {name!r}; {_known(world)}.")


def _known_object(arm: GripperView, arguments: _Arguments) -> None:
    world, name = arm.world, arguments["object_id"]
    if world is not None and name in world.bins:
        raise Refusal("unknown_object", f"{name} is a bin and cannot be picked; {_known(world)}.")
    _known_thing(arm, arguments)


def _empty_gripper(arm: GripperView, _: _Arguments) -> None:
    if arm.held is not None:
        raise Refusal("gripper_not_empty", f"The gripper holds {arm.held}. Place it first.")


def _something_held(arm: GripperView, _: _Arguments) -> None:
    if arm.empty:
        raise Refusal("nothing_held", "The gripper holds nothing. Pick an object first.")


def _upright(arm: GripperView, arguments: _Arguments) -> None:
    name = arguments["object_id"]
    if arm.upright(name) is False:
        raise Refusal("not_upright", f"{name} has fallen over, and the gripper cannot take it from above.")


def _known(world: ArmWorld) -> str:
    return f"the objects are {', '.join(world.objects)}, and the bins are {', '.join(world.bins)}"


def _place_height(surface: str) -> Check[Any]:
    def refuse(_: GripperView, arguments: _Arguments) -> None:
        if arguments["z"] < GRIP_HEIGHT - BELOW_TOLERANCE:
            raise Refusal(
                f"below_{surface}",
                f"z = {arguments['z']:g} is too low: an object that stands on the {surface} has "
                f"z = {GRIP_HEIGHT:g}. Use the z of get_object_pose.",
            )

    return Check("place_height", refuse, always=True)


UNLOCKED: Check[Any] = Check("unlocked", _unlocked)
MOTIONS = frozenset({"move_to", "home", "open_gripper", "close_gripper", "pick", "place"})
"""The tools that move the arm."""


def gripper_interlocks(surface: str, out_of_reach: Callable[[str], Refuse]) -> Interlocks[Any]:
    """Return each tool's checks, in the arm's order. `always`: no arm can do it, even in a forced call.

    Args:
        surface: what objects stand on, in messages.
        out_of_reach: what refuses the goal of a tool that the arm does not reach.
    """

    def in_reach(tool: str) -> Check[Any]:
        return Check("in_reach", out_of_reach(tool), always=True)

    return {
        "move_to": (UNLOCKED, in_reach("move_to")),
        "home": (UNLOCKED,),
        "open_gripper": (UNLOCKED,),
        "close_gripper": (UNLOCKED,),
        "pick": (
            UNLOCKED,
            Check("known_object", _known_object, always=True),
            Check("empty_gripper", _empty_gripper),
            Check("upright", _upright, always=True),
            in_reach("pick"),
        ),
        "place": (
            UNLOCKED,
            Check("something_held", _something_held),
            _place_height(surface),
            in_reach("place"),
        ),
        "get_object_pose": (Check("known_thing", _known_thing, always=True),),
    }
