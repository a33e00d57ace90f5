"""The interlocks of the SO-101, and the messages of its refusals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from devices.arm.gripper_interlocks import gripper_interlocks, unknown
from devices.interlocks import Check, Interlocks
from devices.outcome import Refusal
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


SO101_INTERLOCKS: Interlocks[So101View] = gripper_interlocks("table", _in_reach)
