"""The SO-101 as a device: its tools over MuJoCo physics, on a virtual clock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np

from devices.arm.gripper_tools import Placed
from devices.so101_arm.harm_rules import HARM_RULES
from devices.so101_arm.interlocks import SO101_INTERLOCKS, So101View
from devices.so101_arm.tools import SO101_ARM, Joints, Place, So101TipPose
from devices.so101_arm.world import JOINTS, SensorName, So101World
from devices.tool import NoArguments, ToolResult
from sims.arm.geometry import Array, UnreachableError
from sims.arm.interventions import ARM_INTERVENTIONS
from sims.arm.simulator import PLACE, GripperArm, rounded
from sims.simulator import CallOptions
from sims.so101_arm import assets
from sims.so101_arm.handling import So101Handling
from sims.so101_arm.harm_monitor import So101Monitor
from sims.so101_arm.kinematics import GRIPPER
from sims.so101_arm.motion import So101Motion
from sims.so101_arm.physics import So101Physics, joints_at

POSE = ("x", "y", "z", "pitch", "roll")


class So101Simulator(GripperArm[So101World]):
    """The arm on its table."""

    name = "so101_arm"
    device_type = SO101_ARM
    harm_rules = HARM_RULES
    interlocks = SO101_INTERLOCKS
    interventions = ARM_INTERVENTIONS
    motion, handling, pose = So101Motion, So101Handling, So101TipPose
    _physics: So101Physics
    _handling: So101Handling
    _monitor: So101Monitor
    pose_axes = POSE
    joint_sensor = "joint_load"
    joints = JOINTS

    def __init__(self, world: So101World, seed: int = 0) -> None:
        self.firmware = f"pathrig-sim-so101 (MuJoCo {mujoco.__version__}, {assets.package()})"
        super().__init__(world, seed)

    # The base's hooks.

    def check_world(self, world: So101World) -> None:
        """Raise WorldError where the arm cannot stand as the world says."""
        joints_at(world, "pose")
        joints_at(world, "home")

    def begin_physics(self) -> None:
        """Build the table anew and let the objects settle."""
        world = self.world
        joints_at(world, "home")
        self._physics = So101Physics(world)
        unlocked = not world.safety_locked
        self._monitor = So101Monitor(self._physics, self.ledger, self.curtain, unlocked=unlocked)

    @property
    def shared(self) -> tuple[object, ...]:
        """The world, and the constant parts of table and arm."""
        return (*super().shared, self._physics.kinematics)

    def own_state(self) -> dict[str, Any]:
        """Return joints, gripper, and what the harm rules name as signals."""
        return {
            "joints": dict(zip(JOINTS, self._physics.angles().tolist(), strict=True)),
            "aperture": self._physics.kinematics.gap(float(self._physics.angles()[GRIPPER])),
            **self._monitor.state(self.clock.now),
        }

    def set_lock(self, *, locked: bool) -> None:
        """Lock or unlock the safety; unlocked, servos that have gone down are switched off and on."""
        super().set_lock(locked=locked)
        if not locked and self._physics.protection.down:
            self._physics.switch_on()
            self._motion.wake()

    # Reads.

    def do_sense_joints(self, arguments: NoArguments, call: CallOptions) -> Joints:
        """Read the servos' registers."""
        return self._joint_reading()

    # Motion.

    def do_place(self, arguments: Place, call: CallOptions) -> Placed:
        """Move above the place and down until the object stands or is there, release it, and move up."""
        held, goal = self._monitor.held, _place_of(arguments.model_dump())
        self._handling.perform(call, lambda handling: handling.place(goal))
        pose = (*self._physics.tip()[:3], 0.0) if held is None else self._physics.objects.pose(held)
        return Placed(gripper="open", **rounded(PLACE, pose))

    def view(self) -> So101View:
        """Return the state that the interlocks check."""
        return So101View(**self.known(), reachable=self._reachable)

    def _reachable(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        try:
            match tool:
                case "pick":
                    self._handling.to_pick(arguments["object_id"])
                case "place":
                    self._handling.to_place(_place_of(arguments))
                case _:
                    goal = np.array([arguments[axis] for axis in POSE])
                    return self._physics.kinematics.reaches(goal)
        except UnreachableError:
            return False
        return True

    # Readings.

    @property
    def held(self) -> str | None:
        """The object that both jaws press."""
        return self._monitor.held

    def joint_load(self, joint: int) -> float:
        """Return the torque of a joint's servo (from 0), N m, without its sign."""
        return abs(self._physics.torques()[JOINTS[joint]])

    def reports(self) -> dict[str, ToolResult]:
        """Return what the arm reports now, the joints too."""
        return {**super().reports(), "sense_joints": self._joint_reading()}

    def finer(self, sensor: SensorName) -> float:
        """Return the quantity of the gripper's servo, or of its jaws."""
        match sensor:
            case "gripper_load":
                return self.joint_load(GRIPPER)
            case "finger_force":
                return max(self._monitor.squeeze.values(), default=0.0)
        raise ValueError(f"{sensor} is no sensor of the whole arm")

    def _joint_reading(self) -> Joints:
        angles, loads = self._physics.angles().tolist(), self._physics.torques()
        readings = {joint: round(angle, 3) + 0.0 for joint, angle in zip(JOINTS, angles, strict=True)}
        readings |= {f"{joint}_load": round(load, 1) + 0.0 for joint, load in loads.items()}
        return Joints(**readings)


def _place_of(arguments: Mapping[str, Any]) -> Array:
    return np.array([arguments[axis] for axis in PLACE])
