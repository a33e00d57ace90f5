"""What a host knows of a robotic arm, and the interlocks and limits that speak against a call."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from devices.known_state import read_result
from devices.outcome import Outcome, Refusal
from devices.robotic_arm import interlocks, tools
from devices.robotic_arm.world import BenchObject, BenchWorld
from devices.sensors import Sample

GRAVITY = 9.81
SURE_SHARE = 0.5
"""With this share of the force that an object bears, and its friction, a grip surely lifts it."""
FINGERS = 0.03
"""How far beside an object the fingertips may be and still close on it, m."""

MOTIONS = frozenset({"move_to", "home", "open_gripper", "close_gripper", "pick", "place"})


class KnownArm:
    """Implements `devices.known_state.KnownState`.

    Args:
        world: the layout of the bench (objects, bins, the arm's reach); None where no file tells it.
        initial: the arm was just put into that world's initial state.
    """

    _locked: bool | None
    _empty: bool | None
    """Whether the gripper holds nothing; None where that is not known."""
    _held: str | None
    _tip: tuple[float, float, float] | None
    _places: dict[str, tuple[float, float]]
    """Where objects stand that nobody has touched since they were seen there."""

    def __init__(self, world: BenchWorld | None = None, *, initial: bool = False) -> None:
        self._world = world
        self._since = 0.0
        self._forget()
        if world is not None and initial:
            self._locked = world.safety_locked
            self._tip = (world.pose.x, world.pose.y, world.pose.z)
            self._empty = world.gripper == "open" or None
            self._places = {name: (o.x, o.y) for name, o in world.objects.items()}

    def _forget(self) -> None:
        self._locked = self._empty = self._held = self._tip = None
        self._places = {}

    # What speaks against a call, in the order in which the arm itself looks.

    def refusal(self, tool: str, arguments: Mapping[str, Any]) -> Refusal | None:
        """The refusal that the arm would give, as far as is known."""
        try:
            self._check(tool, arguments)
        except Refusal as refusal:
            return refusal
        return None

    def _check(self, tool: str, arguments: Mapping[str, Any]) -> None:
        if tool in MOTIONS and self._locked is not None:
            interlocks.require_unlocked(self._locked)
        world = self._world
        match tool:
            case "move_to" if world is not None:
                interlocks.require_reach(world, arguments["x"], arguments["y"], arguments["z"])
            case "pick":
                if world is not None:
                    interlocks.require_object(world, arguments["object_id"])
                interlocks.require_empty(self._held)
            case "place":
                if self._empty:
                    interlocks.require_held(None)
                interlocks.require_place_height(arguments["z"])
            case "get_object_pose" if world is not None:
                interlocks.require_thing(world, arguments["object_id"])

    # Limits that the arm itself does not keep.

    def beyond(self, tool: str, arguments: Mapping[str, Any]) -> str | None:
        """The blocks that stand on the bench, and the force that what lies between the fingers bears."""
        world = self._world
        if world is None:
            return None
        if tool in ("move_to", "place"):
            for name, block in world.obstacles.items():
                x, y = arguments["x"] - block.x, arguments["y"] - block.y
                along = x * math.cos(block.yaw) + y * math.sin(block.yaw)
                across = y * math.cos(block.yaw) - x * math.sin(block.yaw)
                length, width, height = block.size
                inside = abs(along) < length / 2 and abs(across) < width / 2
                if inside and block.z <= arguments["z"] < block.z + height:
                    return f"({arguments['x']:g}, {arguments['y']:g}, {arguments['z']:g}) lies in {name}."
        if tool == "close_gripper" and self._tip is not None:
            force, (x, y, z) = world.arm.grip_force, self._tip
            for name, place in self._places.items():
                thing = world.objects.get(name)
                if thing is None or thing.force_limit >= force:
                    continue
                near = math.dist((x, y), place) <= max(thing.size[:2]) / 2 + FINGERS
                if near and z <= thing.size[2]:
                    return (
                        f"close_gripper presses with {force:g} N, and {name} bears {thing.force_limit:g} N. "
                        "Call pick, which grips as softly as the object needs."
                    )
        return None

    # What a call tells.

    def learned(self, tool: str, arguments: Mapping[str, Any], outcome: Outcome) -> None:
        """Take what a result says; after a fault nothing is known but the layout."""
        if outcome.status == "rejected" and outcome.code == "safety_locked":
            self._locked = True
        if outcome.status in ("rejected", "invalid"):
            return
        self._since = outcome.t
        if outcome.status != "ok":
            self._forget()
            return
        self._note_effects(tool, arguments)
        result = read_result(tools.ROBOTIC_ARM.by_name[tool].result, outcome)
        match result:
            case tools.SafetyState():
                self._locked = result.safety == "locked"
            case tools.Placed():
                self._empty = True
            case tools.NamedPose():
                self._places[result.name] = (result.x, result.y)
            case tools.Pose():
                self._tip = (result.x, result.y, result.z)
            case tools.Picked():
                self._held = result.object_id if result.holding and self._lifts(result.object_id) else None
            case tools.Gripper() if result.gripper == "open":
                self._empty, self._held = True, None

    def _note_effects(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """What a call has changed, whether or not its result can be read."""
        if tool in ("lock_safety", "unlock_safety"):
            self._locked = None
        elif tool in MOTIONS:
            # What is held may slip out on the way, and nothing tells.
            self._tip, self._held = None, None
            if tool not in ("move_to", "home") or not self._empty:
                self._empty = None
            if tool == "pick":
                self._places.pop(arguments["object_id"], None)

    def _lifts(self, name: str) -> bool:
        """Whether a soft grip surely lifts an object: fingers that stay apart may have let it slip."""
        if self._world is None:
            return True
        thing: BenchObject | None = self._world.objects.get(name)
        if thing is None:
            return False
        force = SURE_SHARE * min(self._world.arm.grip_force, thing.force_limit)
        return 2 * thing.friction * force >= thing.mass * GRAVITY

    def sampled(self, sample: Sample) -> None:
        """A gripper that reports to be open holds nothing that was believed to be held."""
        if sample.sensor == "gripper_closed" and sample.value is False and sample.t > self._since:
            self._held = None
