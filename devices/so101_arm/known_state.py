"""A host's knowledge of an SO-101, and the interlocks and limits that it foresees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core_eval.path.calls import CallStatus
from devices.known_state import KnownState, read_result
from devices.outcome import Outcome
from devices.robotic_arm.gripper_interlocks import MOTIONS
from devices.robotic_arm.gripper_tools import Gripper, Placed, SafetyState
from devices.robotic_arm.known_state import lies_in
from devices.sensors import Sample
from devices.so101_arm.interlocks import SO101_INTERLOCKS, So101View
from devices.so101_arm.tools import SO101_ARM
from devices.so101_arm.world import So101World


class KnownSo101(KnownState):
    """The known state of an SO-101: the lock, and whether the gripper is empty.

    That the gripper holds something is never known: its jaws may stay apart though an object slipped.

    Args:
        world: the layout of the table; None if no file gives it.
        initial: the arm was just put into that world's initial state.
    """

    interlocks = SO101_INTERLOCKS
    _locked: bool | None = None
    _empty: bool | None = None

    def __init__(self, world: So101World | None = None, initial: bool = False) -> None:
        self._world = world
        if world is not None and initial:
            self._locked = world.safety_locked
            self._empty = world.gripper == "open" or None

    def view(self) -> So101View:
        """Return the known state."""
        return So101View(world=self._world, locked=self._locked, empty=self._empty)

    def limit_violation(self, tool: str, arguments: Mapping[str, Any]) -> str | None:
        """Return a violated limit: a goal in an obstacle."""
        if self._world is None or tool not in ("move_to", "place"):
            return None
        x, y, z = arguments["x"], arguments["y"], arguments["z"]
        for name, block in self._world.obstacles.items():
            if lies_in(block, x, y, z):
                return f"({x:g}, {y:g}, {z:g}) lies in {name}. Choose another place."
        return None

    def on_outcome(self, tool: str, arguments: Mapping[str, Any], outcome: Outcome) -> None:
        """Update the knowledge by a result; after a fault only the layout is known."""
        if outcome.status == CallStatus.REJECTED and outcome.code == "safety_locked":
            self._locked = True
        if outcome.status in (CallStatus.REJECTED, CallStatus.INVALID):
            return
        if outcome.status != CallStatus.OK:
            self._locked = self._empty = None
            return
        if tool in ("lock_safety", "unlock_safety"):
            self._locked = None
        elif tool in MOTIONS and (tool not in ("move_to", "home") or not self._empty):
            self._empty = None
        match read_result(SO101_ARM.by_name[tool].result, outcome):
            case SafetyState(safety=safety):
                self._locked = safety == "locked"
            case Placed():
                self._empty = True
            case Gripper(gripper="open"):
                self._empty = True

    def on_sample(self, sample: Sample) -> None:
        """Learn nothing: no sensor tells more than the results."""
