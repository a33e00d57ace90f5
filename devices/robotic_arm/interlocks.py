"""The interlocks of the robotic arm, and the messages of its refusals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from devices.arm import tolerances
from devices.arm.gripper_interlocks import GripperView, Refuse, gripper_interlocks
from devices.interlocks import Interlocks
from devices.outcome import Refusal
from devices.robotic_arm.world import BenchWorld

Point = tuple[float, float, float]


def tip_of_move(tool: str, arguments: Mapping[str, Any]) -> Point | None:
    """Return the goal of the fingertips, m, if the call's arguments alone give it."""
    return (arguments["x"], arguments["y"], arguments["z"]) if tool == "move_to" else None


@dataclass(frozen=True)
class ArmView(GripperView):
    """The state of an arm that its interlocks check; None: not known.

    Attributes:
        tip: the goal of the fingertips in a call of a tool, m.
    """

    world: BenchWorld | None
    tip: Callable[[str, Mapping[str, Any]], Point | None] = tip_of_move


_Arguments = Mapping[str, Any]


def _out_of_reach(tool: str) -> Refuse:
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

    return refuse


ARM_INTERLOCKS: Interlocks[ArmView] = gripper_interlocks("bench", _out_of_reach)
