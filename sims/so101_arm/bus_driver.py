"""The SO-101 on its servo bus, with the kinematics of its world and LeRobot's calibration file.

A joint's zero is the middle of its calibrated range, as in LeRobot's degrees and in the model
`so101_new_calib`; the gripper's range is that of the model's joint.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from devices.drivers.tool_driver import DriverFault
from devices.outcome import Refusal
from devices.so101_arm.world import DOWN, JOINTS, STALL_NM, So101Spec
from firmware_bridge.drivers.feetech import GOAL_POSITION, STEPS, TORQUE_ENABLE, FeetechBus, Servo
from firmware_bridge.drivers.gripper import GripperDriver, Pose
from sims.arm.geometry import Array, UnreachableError, wrapped

GRIPPER = AXES = 5
"""The gripper's joint is the one after those of the arm."""
CLOSED = -0.17
"""Angle that the gripper closes to, rad."""
AXIS_NAMES = ("x", "y", "z", "pitch", "roll")
PERIOD = 0.02
"""Time between two goals on the way, s."""
ARRIVED, ARRIVAL_SECONDS = 0.03, 2.0
"""Angle, rad, by which every joint must have reached its goal, and the time for it."""
HOLDING_ANGLE = 0.03
"""A closed gripper that stands this much farther open, rad, holds something."""
TURNS = 6
LEAST_PITCH, PITCH_STEP = 0.0, 0.02
"""A gripper that cannot point straight down points as far down as it can, rad."""
QUARTER = math.pi / 2
RAD_PER_STEP = 2 * math.pi / STEPS


class So101Bus(GripperDriver):
    """The tables `objects` and `bins` are in the frame of the arm's base, m; a camera overrides `row`."""

    firmware = "Feetech STS3215"

    def connect(self) -> None:
        """Open the bus, and hear every servo."""
        try:
            from sims.so101_arm.physics import kinematics_of
        except ImportError as error:
            raise OSError(f"the arm's kinematics need {error.name}: pip install 'pathrig[so101]'") from None
        self._spec = So101Spec(speed=self.options["speed"])
        self._kinematics = kinematics_of(self._spec.tip)
        self._limits = self._kinematics.limits
        self._servos = _calibration(Path(self.options["calibration"]).expanduser())
        self._bus = FeetechBus(self.url, self.options["answer_seconds"])
        self._last: dict[str, Servo] = {}
        try:
            self._read()
        except OSError:
            self._bus.close()
            raise

    def close(self) -> None:
        """Close the bus; the torque stays on unless the rig's file says `torque_off_at_end`."""
        if self.options["torque_off_at_end"]:
            self._torque(0)
        self._bus.close()

    def _torque(self, on: int) -> None:
        for joint in self._servos.values():
            try:
                self._bus.write(joint["id"], TORQUE_ENABLE, bytes([on]))
            except OSError:
                if on:
                    raise

    def stop(self) -> None:
        """Hold: each servo's goal becomes where it is, or was last seen if it does not answer."""
        with self.talking:
            for name, joint in self._servos.items():
                try:
                    self._last[name] = self._bus.state(joint["id"])
                except TimeoutError:
                    break
            # A gripper that holds something goes on pressing it.
            names = JOINTS[:GRIPPER] if self.holding else JOINTS
            here = {self._servos[name]["id"]: self._last[name].position for name in names}
            self._bus.write_all(GOAL_POSITION, here)
        self.locked = True

    def standing(self) -> bool:
        """Whether every servo says that it does not move."""
        return not any(servo.moving for servo in self._read().values())

    def poll(self) -> None:
        """Read every servo."""
        self._read()

    def _read(self) -> dict[str, Servo]:
        with self.talking:
            found = {name: self._bus.state(joint["id"]) for name, joint in self._servos.items()}
        self._last = found
        for name, servo in found.items():
            self.sample(f"load.{name}", round(self._load(servo), 1))
            self.sample(f"current.{name}", round(servo.current, -1))
            self.sample(f"temperature.{name}", servo.temperature)
            self.sample(f"voltage.{name}", servo.voltage)
            self.sample(f"health.{name}", ", ".join(servo.faults) or "ok")
        return found

    def _healthy(self) -> Array:
        """Return all joint angles (6,). Raises DriverFault: a servo reports a fault."""
        found = self._read()
        for name, servo in found.items():
            if servo.faults:
                what = ", ".join(servo.faults)
                raise DriverFault(
                    f"servo_{servo.faults[-1]}",
                    f"The servo of {name} reports {what}. unlock_safety switches the servos on again.",
                )
        return np.array([self._angle(name, servo.position) for name, servo in found.items()])

    def _load(self, servo: Servo) -> float:
        return servo.load * STALL_NM[self.options["supply"]]

    def _angle(self, name: str, position: int) -> float:
        joint = self._servos[name]
        low, high = joint["range_min"], joint["range_max"]
        if name == JOINTS[GRIPPER]:
            share = (position - low) / (high - low)
            share = 1.0 - share if joint["drive_mode"] else share
            return float(self._limits[GRIPPER, 0] + share * np.ptp(self._limits[GRIPPER]))
        turned = (position - (low + high) / 2) * RAD_PER_STEP
        return -turned if joint["drive_mode"] else turned

    def _goal(self, name: str, angle: float) -> int:
        joint = self._servos[name]
        low, high = joint["range_min"], joint["range_max"]
        if name == JOINTS[GRIPPER]:
            share = (angle - self._limits[GRIPPER, 0]) / np.ptp(self._limits[GRIPPER])
            steps = low + (1.0 - share if joint["drive_mode"] else share) * (high - low)
        else:
            steps = (low + high) / 2 + (-angle if joint["drive_mode"] else angle) / RAD_PER_STEP
        return round(float(min(max(steps, low), high)))

    def _command(self, angles: Mapping[str, float]) -> None:
        with self.acting():
            self._bus.write_all(
                GOAL_POSITION, {self._servos[n]["id"]: self._goal(n, a) for n, a in angles.items()}
            )

    def where(self) -> dict[str, float]:
        """Return the fingertips' pose, by the joints' encoders."""
        pose = self._kinematics.pose(self._healthy()[:AXES])
        return dict(zip(AXIS_NAMES, np.round(pose, 3).tolist(), strict=True))

    def pose_of(self, place: Pose) -> Pose:
        """Point down, and turn the wrist until the jaws close along the object's yaw, to a quarter turn."""
        pose = self._pointing(np.array([place["x"], place["y"], place["z"], DOWN, 0.0]))
        try:
            for _ in range(TURNS):
                off = wrapped(place.get("yaw", 0.0) - self._kinematics.across(pose) + QUARTER / 2) % QUARTER
                ahead = pose + np.array([0, 0, 0, 0, 1e-3])
                slope = wrapped(self._kinematics.across(ahead) - self._kinematics.across(pose)) / 1e-3
                pose[4] = wrapped(pose[4] + (off - QUARTER / 2) * math.copysign(1.0, slope))
        except UnreachableError as error:
            raise Refusal("out_of_range", f"The arm does not get there: {error}.") from None
        return dict(zip(AXIS_NAMES, pose.tolist(), strict=True))

    def raised(self, pose: Pose) -> Pose:
        """Return the pose above one, which points as far down as the arm can there."""
        above = self._pointing(np.array([pose["x"], pose["y"], self.options["carry_z"], DOWN, pose["roll"]]))
        return dict(zip(AXIS_NAMES, above.tolist(), strict=True))

    def _pointing(self, pose: Array) -> Array:
        while pose[3] > LEAST_PITCH and not self._kinematics.reaches(pose):
            pose[3] -= PITCH_STEP
        return pose

    def go(self, pose: Pose) -> None:
        """Move in a straight line, or at even speeds of the joints where one leaves the arm's reach."""
        from sims.so101_arm.paths import joint_path, straight

        goal = np.array([pose[axis] for axis in AXIS_NAMES])
        here = self._healthy()[:AXES]
        try:
            end = self._kinematics.joint_angles(goal[None])[0]
        except UnreachableError as error:
            raise Refusal("out_of_range", f"The arm does not get there: {error}.") from None
        line = straight(self._kinematics.pose(here), goal, self._spec, PERIOD)
        path = joint_path(self._kinematics, line, here, end, self._spec.joint_speed, PERIOD)
        for angles in path:
            self._command(dict(zip(JOINTS, angles.tolist(), strict=False)))
            self.pause(PERIOD)

        def arrived() -> bool:
            return bool(np.abs(self._healthy()[:AXES] - end).max() < ARRIVED)

        self.until(arrived, ARRIVAL_SECONDS, "the goal")

    def grip(self, close: bool) -> bool:
        """Close until the gripper stands, or open it."""
        goal = CLOSED if close else self._spec.opening
        self._command({JOINTS[GRIPPER]: goal})
        self.pause(self.options["grip_seconds"])
        self.until(lambda: not self._read()[JOINTS[GRIPPER]].moving, ARRIVAL_SECONDS, "a still gripper")
        angle = float(self._healthy()[GRIPPER])
        if not close or angle <= CLOSED + HOLDING_ANGLE:
            return False
        # A goal far inside what is held would overload the servo.
        self._command({JOINTS[GRIPPER]: angle - self.options["squeeze"]})
        return True

    def unlock_safety(self) -> Mapping[str, Any]:
        """Switch the torque on, which leaves an overload, with each goal where the servo is."""
        with self.acting():
            here = {self._servos[name]["id"]: servo.position for name, servo in self._read().items()}
            self._bus.write_all(GOAL_POSITION, here)
            self._torque(1)
        return super().unlock_safety()

    def sense_joints(self) -> Mapping[str, Any]:
        """Return angles, rad, and loads, N m."""
        found = self._read()
        angles = {name: round(self._angle(name, servo.position), 4) for name, servo in found.items()}
        return angles | {f"{name}_load": round(self._load(servo), 1) for name, servo in found.items()}


def _calibration(path: Path) -> dict[str, dict[str, int]]:
    """Return the joints of LeRobot's calibration file, in the order of the model. Raises OSError."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        keys = ("id", "drive_mode", "range_min", "range_max")
        joints = {name: {key: int(found[name][key]) for key in keys} for name in JOINTS}
    except (ValueError, KeyError, TypeError) as error:
        raise OSError(f"{path}: no calibration file of LeRobot's so101_follower ({error!r})") from None
    for name, joint in joints.items():
        if not 0 <= joint["range_min"] < joint["range_max"] < STEPS:
            raise OSError(f"{path}: {name}: range_min must be below range_max, both from 0 to {STEPS - 1}")
    return joints
