"""The robotic arm as a device: its tools over MuJoCo physics, on a virtual clock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np

from devices.arm.gripper_tools import OneObject, Picked, Placed, TipPose
from devices.robotic_arm.harm_rules import HARM_RULES
from devices.robotic_arm.interlocks import ARM_INTERLOCKS, ArmView, Point, tip_of_move
from devices.robotic_arm.safeguards import AXES as JOINTS
from devices.robotic_arm.tools import ROBOTIC_ARM, ToolPose
from devices.robotic_arm.world import BenchWorld, SensorName
from sims.arm.interventions import BENCH_INTERVENTIONS
from sims.arm.simulator import GripperArm, rounded
from sims.robotic_arm import quantities
from sims.robotic_arm.handling import BenchHandling
from sims.robotic_arm.harm_monitor import BenchMonitor
from sims.robotic_arm.motion import BenchMotion
from sims.robotic_arm.physics import BenchPhysics
from sims.simulator import CallOptions

AXES = ("x", "y", "z", "yaw")


class ArmSimulator(GripperArm[BenchWorld]):
    """The arm on its bench."""

    name = "robotic_arm"
    firmware = f"pathrig-sim-arm (MuJoCo {mujoco.__version__})"
    device_type = ROBOTIC_ARM
    harm_rules = HARM_RULES
    interlocks = ARM_INTERLOCKS
    interventions = BENCH_INTERVENTIONS
    motion, handling, pose = BenchMotion, BenchHandling, TipPose
    _physics: BenchPhysics
    _handling: BenchHandling
    _monitor: BenchMonitor
    pose_axes = AXES
    joint_sensor = "joint_current"
    joints = tuple(str(number) for number in range(1, len(JOINTS) + 1))

    # The base's hooks.

    def begin_physics(self) -> None:
        """Build the bench anew and let the objects settle."""
        world = self.world
        self._physics = BenchPhysics(world)
        unlocked = not world.safety_locked
        self._monitor = BenchMonitor(self._physics, self.ledger, self.curtain, unlocked=unlocked)

    def left_out(self) -> None:
        """Let motions after this call start elsewhere than in the original."""
        self._handling.elsewhere = True

    def own_state(self) -> dict[str, Any]:
        """Return joints, gripper, contacts, and what the harm rules name as signals."""
        physics = self._physics
        return {
            "joints": physics.data.qpos[: len(JOINTS)].tolist(),
            "joint_speeds": quantities.joint_speeds(physics),
            "aperture": physics.aperture,
            "finger_force": physics.finger_force,
            "contacts": quantities.contacts(physics),
            **self._monitor.state(self.clock.now),
        }

    # Motion.

    def do_pick(self, arguments: OneObject, call: CallOptions) -> Picked:
        """Move above the object and down, grip with a force that it bears, and move up."""
        name = arguments.object_id
        down = self._handling.tip_to_pick(name)
        self._handling.perform(call, lambda handling: handling.pick(name, down), name)
        return Picked(object_id=name, **self.gripper_reading().model_dump())

    def do_place(self, arguments: ToolPose, call: CallOptions) -> Placed:
        """Move above the pose and down until the object stands or is there, release it, and move up."""
        name = self._physics.held
        down = self._handling.tip_to_place(self.goal_of(arguments))
        self._handling.perform(call, lambda handling: handling.place(down), name)
        pose = self._physics.tip() if name is None else self._physics.objects.pose(name)
        return Placed(gripper="open", **rounded(AXES, pose))

    def view(self) -> ArmView:
        """Return the state that the interlocks check."""
        return ArmView(**self.known(), tip=self._tip_goal)

    def _tip_goal(self, tool: str, arguments: Mapping[str, Any]) -> Point | None:
        match tool:
            case "pick":
                tip = self._handling.tip_to_pick(arguments["object_id"])
            case "place":
                tip = self._handling.tip_to_place(np.array([arguments[axis] for axis in AXES]))
            case _:
                return tip_of_move(tool, arguments)
        return float(tip[0]), float(tip[1]), float(tip[2])

    # Readings.

    @property
    def held(self) -> str | None:
        """The object that the gripper holds."""
        return self._physics.held

    def joint_load(self, joint: int) -> float:
        """Return the torque of a joint (from 0), N m."""
        return quantities.torques(self._physics)[joint]

    def finer(self, sensor: SensorName) -> float:
        """Return the quantity of a sensor of gripper or wrist."""
        match sensor:
            case "aperture":
                return self._physics.aperture
            case "finger_force":
                return min(quantities.finger_forces(self._physics))
            case "load_cell":
                return quantities.load(self._physics)
            case "wrist_force":
                return quantities.wrist_force(self._physics)
        raise ValueError(f"{sensor} is no sensor of the whole arm")
