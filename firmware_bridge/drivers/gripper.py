"""The tools of an arm or a gantry with a gripper, over what moves it: the base of such drivers in Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from devices.drivers.tool_driver import LockedDriver
from devices.outcome import Refusal

Pose = Mapping[str, float]


class GripperDriver(LockedDriver):
    """A subclass has `go`, `where`, `grip` and `pose_of`; its rig file has the tables `objects` and `bins`.

    Option `carry_z`: the height at which objects are carried, m; `home_*`: the pose of `home`.
    """

    gripper, holding = "open", False

    def go(self, pose: Pose) -> None:
        """Move the fingertips to a pose, and wait for it."""
        raise NotImplementedError

    def where(self) -> dict[str, float]:
        """Return the pose of the fingertips."""
        raise NotImplementedError

    def grip(self, close: bool) -> bool:
        """Close or open the gripper, wait for it, and return whether it holds something."""
        raise NotImplementedError

    def pose_of(self, place: Pose) -> Pose:
        """Return the pose of the fingertips at which they grip what stands at x, y, z with this yaw."""
        raise NotImplementedError

    def raised(self, pose: Pose) -> Pose:
        """Return the pose above one, at the height at which objects are carried."""
        return {**pose, "z": self.options["carry_z"]}

    def _grip(self, close: bool) -> dict[str, Any]:
        self.holding = self.grip(close)
        self.gripper = "closed" if close else "open"
        return self.sense_gripper()

    def _at(self, place: Pose, close: bool) -> dict[str, float]:
        """Go down to a place, close or open the gripper there, and go up; return where it was."""
        low = self.pose_of(place)
        high = self.raised(low)
        self.go(self.raised(self.where()))
        self.go(high)
        self.go(low)
        there = self.where()
        self._grip(close)
        self.go(high)
        return there

    def move_to(self, **pose: float) -> Mapping[str, Any]:
        """Move in a straight line."""
        self.unlocked()
        self.go(pose)
        return self.where()

    def home(self) -> Mapping[str, Any]:
        """Move to the rest pose."""
        self.unlocked()
        self.go(
            {axis: self.options[f"home_{axis}"] for axis in self.where() if f"home_{axis}" in self.options}
        )
        return self.where()

    def open_gripper(self) -> Mapping[str, Any]:
        """Open."""
        self.unlocked()
        return self._grip(False)

    def close_gripper(self) -> Mapping[str, Any]:
        """Close."""
        self.unlocked()
        return self._grip(True)

    def pick(self, object_id: str) -> Mapping[str, Any]:
        """Open, go to the object, grip it and lift it."""
        self.unlocked()
        if self.holding:
            raise Refusal("hand_full", "The gripper holds something. Place that first.")
        thing = self.row("objects", object_id)
        self._grip(False)
        self._at(thing, True)
        return {"object_id": object_id, **self.sense_gripper()}

    def place(self, **place: float) -> Mapping[str, Any]:
        """Carry what is held to a place, and let go."""
        self.unlocked()
        if not self.holding:
            raise Refusal("hand_empty", "The gripper holds nothing. Pick an object first.")
        there = self._at(place, False)
        where = {axis: there[axis] for axis in ("x", "y", "z")}
        return {**where, "yaw": place["yaw"], "gripper": self.gripper}

    def sense_pose(self) -> Mapping[str, Any]:
        """Return the pose."""
        return self.where()

    def sense_gripper(self) -> dict[str, Any]:
        """Return what is known of the gripper."""
        return {"gripper": self.gripper, "holding": self.holding}

    def list_objects(self) -> Mapping[str, Any]:
        """Return the tables' names."""
        return {table: list(self.tables[table]) for table in ("objects", "bins")}

    def get_object_pose(self, object_id: str) -> Mapping[str, Any]:
        """Return an object's or a bin's row."""
        row = self.row("bins" if object_id in self.tables["bins"] else "objects", object_id)
        return {"name": object_id, **{axis: float(row[axis]) for axis in ("x", "y", "z", "yaw")}}
