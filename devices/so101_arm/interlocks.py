"""The interlocks of the SO-101, and the messages of its refusals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from devices.arm.gripper_interlocks import GripperView, Refuse, gripper_interlocks, unknown
from devices.arm.known_state import KnownGripperArm
from devices.interlocks import Interlocks
from devices.outcome import Refusal
from devices.so101_arm.tools import SO101_ARM
from devices.so101_arm.world import So101World

_Arguments = Mapping[str, Any]


@dataclass(frozen=True)
class So101View(GripperView):
    """The state of an SO-101 that its interlocks check; None: not known.

    Attributes:
        reachable: whether the arm reaches what a call of a tool asks of it.
    """

    world: So101World | None
    reachable: Callable[[str, _Arguments], bool | None] = unknown


def _out_of_reach(tool: str) -> Refuse:
    def refuse(arm: So101View, arguments: _Arguments) -> None:
        if arguments.get("z", 0.0) < 0.0:
            raise Refusal("below_table", f"z = {arguments['z']:g} is below the table. Give a z of 0 or more.")
        if arm.reachable(tool, arguments) is False:
            raise Refusal(
                "out_of_reach",
                "The arm's joints do not allow that pose. Straight down it reaches from 0.11 m to 0.31 m in "
                "front of its base, up to 0.06 m above the table; with a pitch of 1.2 farther and higher.",
            )

    return refuse


SO101_INTERLOCKS: Interlocks[So101View] = gripper_interlocks("table", _out_of_reach)


class KnownSo101(KnownGripperArm):
    """The known state of an SO-101."""

    device_type = SO101_ARM
    interlocks = SO101_INTERLOCKS
    view_type = So101View
