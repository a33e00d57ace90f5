"""A host's knowledge of an arm with a gripper: the lock, and whether the gripper is empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from core_eval.call_status import CallStatus
from devices.arm.arm_world import ArmWorld
from devices.arm.gripper_interlocks import MOTIONS, GripperView
from devices.arm.gripper_tools import Gripper, Placed, SafetyState
from devices.arm.things import Block, lies_in
from devices.device_type import DeviceType
from devices.known_state import KnownState, read_result
from devices.outcome import Outcome
from devices.sensors import Sample


class KnownGripperArm(KnownState):
    """The known state of an arm with a gripper.

    That the gripper holds something is never known: its fingers may stay apart though an object slipped.

    Args:
        world: the layout of the bench; None if no file gives it.
        initial: the arm was just put into that world's initial state.
    """

    device_type: ClassVar[DeviceType]
    view_type: ClassVar[type[GripperView]]
    """What its interlocks check."""
    _world: Any
    _locked: bool | None
    _empty: bool | None
    """Whether the gripper holds nothing; None if not known."""

    def __init__(self, world: ArmWorld | None = None, initial: bool = False) -> None:
        self._world = world
        self.forget()
        if world is not None and initial:
            self._locked = world.safety_locked
            self._empty = world.gripper == "open" or None

    def forget(self) -> None:
        """Know the layout alone."""
        self._locked = self._empty = None

    def view(self) -> Any:
        """Return the known state."""
        return self.view_type(world=self._world, locked=self._locked, empty=self._empty)

    def limit_violation(self, tool: str, arguments: Mapping[str, Any]) -> str | None:
        """Return a violated limit: a goal in an obstacle."""
        return None if self._world is None else self.blocked(tool, arguments, self._world.obstacles)

    def blocked(self, tool: str, arguments: Mapping[str, Any], blocks: Mapping[str, Block]) -> str | None:
        """Return in which block the goal of a motion lies, as a sentence."""
        if tool in ("move_to", "place"):
            x, y, z = arguments["x"], arguments["y"], arguments["z"]
            for name, block in blocks.items():
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
            self.forget()
            return
        self.note_effects(tool, arguments)
        self.learn(read_result(self.device_type.by_name[tool].result, outcome))

    def note_effects(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """Note the effects of a call, whether or not its result is readable."""
        if tool in ("lock_safety", "unlock_safety"):
            self._locked = None
        elif tool in MOTIONS and (tool not in ("move_to", "home") or not self._empty):
            self._empty = None

    def learn(self, result: object) -> None:
        """Note what a result says."""
        match result:
            case SafetyState(safety=safety):
                self._locked = safety == "locked"
            case Placed():
                self._empty = True
            case Gripper(gripper="open"):
                self._empty = True

    def on_sample(self, sample: Sample) -> None:
        """Learn nothing: no sensor tells more than the results."""
