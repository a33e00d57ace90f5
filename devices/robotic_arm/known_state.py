"""A host's knowledge of a robotic arm, and the interlocks and limits that it foresees."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from devices.arm import gripper_tools as tools
from devices.arm.gripper_interlocks import MOTIONS
from devices.arm.known_state import KnownGripperArm
from devices.robotic_arm.interlocks import ARM_INTERLOCKS, ArmView
from devices.robotic_arm.tools import ROBOTIC_ARM
from devices.robotic_arm.world import BenchWorld
from devices.sensors import Sample

FINGERS = 0.03
"""Maximum distance of the fingertips beside an object that they close on, m."""


class KnownArm(KnownGripperArm):
    """The known state of the bench's arm: where its fingertips and the objects are, too."""

    device_type = ROBOTIC_ARM
    interlocks = ARM_INTERLOCKS
    view_type = ArmView
    _tip: tuple[float, float, float] | None
    _places: dict[str, tuple[float, float]]
    """Positions of objects that were not touched since they were read."""

    def __init__(self, world: BenchWorld | None = None, initial: bool = False) -> None:
        self._curtain_broken = False
        super().__init__(world, initial)
        if world is not None and initial:
            self._tip = (world.pose.x, world.pose.y, world.pose.z)
            self._places = {name: (o.x, o.y) for name, o in world.objects.items()}

    def forget(self) -> None:
        """Know the layout alone."""
        super().forget()
        self._tip = None
        self._places = {}

    # Limits that the arm itself does not enforce.

    def limit_violation(self, tool: str, arguments: Mapping[str, Any]) -> str | None:
        """Return a violated limit: light curtain, blocks, zones, or the force limit of a gripped object."""
        if self._curtain_broken and tool in MOTIONS:
            return "A person stands in the light curtain. Wait until the person has gone."
        world = self._world
        if world is None:
            return None
        if (within := self.blocked(tool, arguments, {**world.obstacles, **world.zones})) is not None:
            return within
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

    def note_effects(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """Note the effects of a call, whether or not its result is readable."""
        super().note_effects(tool, arguments)
        if tool in MOTIONS:
            self._tip = None
            if tool == "pick":
                self._places.pop(arguments["object_id"], None)

    def learn(self, result: object) -> None:
        """Note what a result says."""
        super().learn(result)
        match result:
            case tools.ThingPose():
                self._places[result.name] = (result.x, result.y)
            case tools.TipPose():
                self._tip = (result.x, result.y, result.z)

    def on_sample(self, sample: Sample) -> None:
        """Note whether the light curtain is broken."""
        if sample.sensor == "light_curtain":
            self._curtain_broken = sample.value is True
