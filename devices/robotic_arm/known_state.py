"""A host's knowledge of a robotic arm, and the interlocks and limits that it foresees."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from core_eval.path.calls import CallStatus
from devices.known_state import KnownState, read_result
from devices.outcome import Outcome
from devices.robotic_arm import gripper_tools as tools
from devices.robotic_arm.gripper_interlocks import MOTIONS
from devices.robotic_arm.interlocks import ARM_INTERLOCKS, ArmView
from devices.robotic_arm.safeguards import Zone
from devices.robotic_arm.things import Obstacle
from devices.robotic_arm.tools import ROBOTIC_ARM
from devices.robotic_arm.world import BenchWorld
from devices.sensors import Sample

FINGERS = 0.03
"""Maximum distance of the fingertips beside an object that they close on, m."""


class KnownArm(KnownState):
    """The known state of a robotic arm.

    That the gripper holds something is never known: its fingers may stay apart though an object slipped.

    Args:
        world: the layout of the bench (objects, bins, the arm's reach); None if no file gives it.
        initial: the arm was just put into that world's initial state.
    """

    interlocks = ARM_INTERLOCKS
    _locked: bool | None
    _empty: bool | None
    """Whether the gripper holds nothing; None if not known."""
    _tip: tuple[float, float, float] | None
    _places: dict[str, tuple[float, float]]
    """Positions of objects that were not touched since they were read."""

    def __init__(self, world: BenchWorld | None = None, initial: bool = False) -> None:
        self._world = world
        self._curtain_broken = False
        self._forget()
        if world is not None and initial:
            self._locked = world.safety_locked
            self._tip = (world.pose.x, world.pose.y, world.pose.z)
            self._empty = world.gripper == "open" or None
            self._places = {name: (o.x, o.y) for name, o in world.objects.items()}

    def _forget(self) -> None:
        self._locked = self._empty = self._tip = None
        self._places = {}

    def view(self) -> ArmView:
        """Return the known state."""
        return ArmView(world=self._world, locked=self._locked, empty=self._empty)

    # Limits that the arm itself does not enforce.

    def limit_violation(self, tool: str, arguments: Mapping[str, Any]) -> str | None:
        """Return a violated limit: light curtain, blocks, zones, or the force limit of a gripped object."""
        if self._curtain_broken and tool in MOTIONS:
            return "A person stands in the light curtain. Wait until the person has gone."
        world = self._world
        if world is None:
            return None
        if tool in ("move_to", "place"):
            x, y, z = arguments["x"], arguments["y"], arguments["z"]
            blocks: dict[str, Obstacle | Zone] = {**world.obstacles, **world.zones}
            for name, block in blocks.items():
                if lies_in(block, x, y, z):
                    return f"({x:g}, {y:g}, {z:g}) lies in {name}. Choose another place."
        return self._too_hard(world) if tool == "close_gripper" else None

    def _too_hard(self, world: BenchWorld) -> str | None:
        if self._tip is None:
            return None
        force, (x, y, z) = world.arm.grip_force, self._tip
        for name, place in self._places.items():
            thing = world.objects.get(name)
            if thing is None or thing.force_limit >= force:
                continue
            near = math.dist((x, y), place) <= max(thing.size[:2]) / 2 + FINGERS
            if near and z <= thing.size[2]:
                return (
                    f"close_gripper presses with {force:g} N, and {name} withstands {thing.force_limit:g} N. "
                    "Call pick, which grips as softly as the object needs."
                )
        return None

    # Knowledge from calls.

    def on_outcome(self, tool: str, arguments: Mapping[str, Any], outcome: Outcome) -> None:
        """Update the knowledge by a result; after a fault only the layout is known."""
        if outcome.status == CallStatus.REJECTED and outcome.code == "safety_locked":
            self._locked = True
        if outcome.status in (CallStatus.REJECTED, CallStatus.INVALID):
            return
        if outcome.status != CallStatus.OK:
            self._forget()
            return
        self._note_effects(tool, arguments)
        result = read_result(ROBOTIC_ARM.by_name[tool].result, outcome)
        match result:
            case tools.SafetyState():
                self._locked = result.safety == "locked"
            case tools.Placed():
                self._empty = True
            case tools.NamedPose():
                self._places[result.name] = (result.x, result.y)
            case tools.Pose():
                self._tip = (result.x, result.y, result.z)
            case tools.Gripper() if result.gripper == "open":
                self._empty = True

    def _note_effects(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """Note the effects of a call, whether or not its result is readable."""
        if tool in ("lock_safety", "unlock_safety"):
            self._locked = None
        elif tool in MOTIONS:
            self._tip = None
            if tool not in ("move_to", "home") or not self._empty:
                self._empty = None
            if tool == "pick":
                self._places.pop(arguments["object_id"], None)

    def on_sample(self, sample: Sample) -> None:
        """Note whether the light curtain is broken."""
        if sample.sensor == "light_curtain":
            self._curtain_broken = sample.value is True


def lies_in(block: Obstacle | Zone, x: float, y: float, z: float) -> bool:
    """Return whether a point, m, lies in a block."""
    dx, dy = x - block.x, y - block.y
    along = dx * math.cos(block.yaw) + dy * math.sin(block.yaw)
    across = dy * math.cos(block.yaw) - dx * math.sin(block.yaw)
    length, width, height = block.size
    return abs(along) < length / 2 and abs(across) < width / 2 and block.z <= z < block.z + height
