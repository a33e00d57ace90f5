"""The SO-101 as a device: its tools over MuJoCo physics, on a virtual clock."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import mujoco
import numpy as np

from core_eval.path.calls import CallStatus
from devices.outcome import Outcome
from devices.robotic_arm.gripper_tools import (
    Gripper,
    NamedPose,
    Objects,
    OneObject,
    Picked,
    Placed,
    SafetyState,
)
from devices.so101_arm.harm_rules import HARM_RULES
from devices.so101_arm.interlocks import SO101_INTERLOCKS, So101View
from devices.so101_arm.tools import SO101_ARM, Joints, Place, Pose, ToolPose
from devices.so101_arm.world import JOINTS, SensorName, So101Pose, So101World
from devices.tool import NoArguments, ToolResult
from sims.clock import Clock
from sims.coarse_sensors import CoarseSensor
from sims.overrides import WorldError, merge_world
from sims.robotic_arm.aid import Aid
from sims.robotic_arm.call_time import LONGEST_SETTLING
from sims.robotic_arm.fitted_sensors import fitted
from sims.robotic_arm.harm_pieces import SAME_EVENT
from sims.robotic_arm.slots import Slots
from sims.simulator import CallOptions, Simulator
from sims.so101_arm import assets, scene
from sims.so101_arm.handling import Handling
from sims.so101_arm.harm_monitor import HarmMonitor
from sims.so101_arm.interventions import SO101_INTERVENTIONS
from sims.so101_arm.kinematics import GRIPPER, Array, UnreachableError
from sims.so101_arm.motion import Motion
from sims.so101_arm.physics import So101Physics, joints_at

LOCK_TIME = 0.1
"""Switching time of the safety lock, s."""
POSE = ("x", "y", "z", "pitch", "roll")
PLACE = ("x", "y", "z", "yaw")


class So101Simulator(Simulator[So101World]):
    """The arm on its table. The safe state is: arm and gripper as they are, safety locked.

    A gripper that holds something keeps holding it through a stop: releasing would drop it. While everything
    rests, time passes without physics.
    """

    name = "so101_arm"
    device_type = SO101_ARM
    harm_rules = HARM_RULES
    interlocks = SO101_INTERLOCKS
    interventions = SO101_INTERVENTIONS
    horizon = LONGEST_SETTLING
    run_out_step = 0.5
    grain = SAME_EVENT
    kept = ("_physics", "_motion", "_handling", "_monitor", "_ticks", "_locked", "_weakness")

    def __init__(self, world: So101World, seed: int = 0) -> None:
        assets.folder()
        self.firmware = f"pathrig-sim-so101 (MuJoCo {mujoco.__version__}, {assets.package_version()})"
        super().__init__(world, seed)

    def init(self, state: Mapping[str, Any], seed: int) -> Outcome:
        """Return to the initial state of the default world with these overrides merged in."""
        try:
            world = merge_world(self.default_world, state)
            joints_at(world, "pose")
            joints_at(world, "home")
        except WorldError as error:
            return Outcome(CallStatus.INVALID, code="bad_state", message=str(error), t=self.clock.now)
        return super().init(state, seed)

    # The base's hooks.

    def begin(self) -> None:
        """Build the table anew and let the objects settle."""
        world = self.world
        joints_at(world, "home")
        self._physics = So101Physics(world)
        self._locked = world.safety_locked
        self._monitor = HarmMonitor(self._physics, self.ledger)
        self._motion = Motion(self._physics, self._monitor)
        self._handling = Handling(
            world, self._physics, self._monitor, self._motion, self.pass_time, self.clock
        )
        self._ticks = 0
        self._step_ticks = Clock.to_ticks(scene.TIMESTEP)
        self._weakness = 0.0
        self._slots = Slots(world, self._physics.objects, world.slot_radius)

    def goes_on(self) -> bool:
        """Return whether anything moves, or harm goes on; at rest that takes a while to show."""
        now = self.clock.now
        return not self._motion.settled() or (
            now < (self.ledger.record_end or now) + self.run_out_step
            and any(event.t_end >= now - SAME_EVENT for event in self.events)
        )

    def evolve(self, seconds: float) -> None:
        """Run the physics up to the last whole step within this time."""
        weakness = self.faults.strength("weak_gripper")
        if weakness != self._weakness:
            self._weakness = weakness
            self._physics.weaken(weakness)
            self._motion.wake()
        end = self.clock.ticks + Clock.to_ticks(seconds)
        count = (end - self._ticks) // self._step_ticks
        self._motion.run(count, Clock.to_seconds(self._ticks))
        self._ticks += count * self._step_ticks

    @property
    def shared(self) -> tuple[object, ...]:
        """The world and the constant part of the table."""
        return (self.world, self._physics.bench, self._physics.kinematics)

    def make_safe(self) -> None:
        """Hold the arm and the gripper where they are, and lock the safety."""
        self._motion.halt()
        self._motion.wake()
        self._locked = True

    def coarse_sensors(self) -> Sequence[CoarseSensor]:
        """Return the sensors that the world fits; `at_slot.SLOT` for bins and the objects' first places."""
        joints = {f"joint_load.{joint}": partial(self.joint_load, joint) for joint in JOINTS}
        return fitted(self, self.world.sensors, self.world.hidden, joints)

    def state_dict(self) -> dict[str, Any]:
        """Return the whole state in SI units: see `docs/harm-rules-arm.md`."""
        physics = self._physics
        return {
            "safety_locked": self._locked,
            "gripper": self._handling.gripper,
            "holding": self._monitor.held,
            "pose": dict(zip(POSE, physics.tip(), strict=True)),
            "objects": physics.objects.poses(),
            "joints": dict(zip(JOINTS, physics.angles().tolist(), strict=True)),
            "aperture": self._aperture(),
            **self._monitor.state(),
        }

    def coarse_state(self) -> dict[str, Any]:
        """Return the lock, the gripper's report, whether the arm is at home, and the slots."""
        home = self.world.home
        from_home = math.dist(self._physics.tip()[:3], (home.x, home.y, home.z))
        return {
            "safety": "locked" if self._locked else "unlocked",
            **self._gripper_reading().model_dump(),
            "at_home": from_home < self.world.slot_radius,
            "at_slot": {slot: self.occupied(slot) for slot in self.slots},
            "_pose": self._tip_reading().model_dump(),
        }

    def registers(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the lock, the fingertips' pose, the joints, and the gripper's report."""
        results: dict[str, ToolResult] = {
            "lock_safety": SafetyState(safety="locked" if self._locked else "unlocked"),
            "sense_pose": self._tip_reading(),
            "sense_joints": self._joint_reading(),
            "sense_gripper": self._gripper_reading(),
        }
        return {tool: value.model_dump() for tool, value in results.items()}

    @property
    def steps_computed(self) -> int:
        """Number of physics steps since `init`, without those skipped at rest."""
        return self._motion.ran

    @property
    def physics_state(self) -> tuple[Any, Any]:
        """MuJoCo's model and data, for pictures."""
        return self._physics.model, self._physics.data

    @property
    def struck(self) -> frozenset[str]:
        """What arm or load touches now, and should not."""
        return frozenset({*self._monitor.touch, *self._monitor.pressed})

    # Reads.

    def do_sense_pose(self, arguments: NoArguments, call: CallOptions) -> Pose:
        """Read the fingertips' pose."""
        return self._tip_reading()

    def do_sense_joints(self, arguments: NoArguments, call: CallOptions) -> Joints:
        """Read the servos' registers."""
        return self._joint_reading()

    def do_sense_gripper(self, arguments: NoArguments, call: CallOptions) -> Gripper:
        """Read whether the gripper is open, and whether something keeps the jaws apart."""
        return self._gripper_reading()

    def do_list_objects(self, arguments: NoArguments, call: CallOptions) -> Objects:
        """List all names."""
        return Objects(objects=list(self.world.objects), bins=list(self.world.bins))

    def do_get_object_pose(self, arguments: OneObject, call: CallOptions) -> NamedPose:
        """Read the pose of an object, or the pose to place into a bin at."""
        name = arguments.object_id
        tray = self.world.bins.get(name)
        pose = self._physics.objects.pose(name) if tray is None else (tray.x, tray.y, tray.z, tray.yaw)
        return NamedPose(name=name, **_rounded(PLACE, pose))

    # Safety.

    def do_unlock_safety(self, arguments: NoArguments, call: CallOptions) -> SafetyState:
        """Allow motion."""
        self.pass_time(LOCK_TIME)
        self._locked = False
        return SafetyState(safety="unlocked")

    def do_lock_safety(self, arguments: NoArguments, call: CallOptions) -> SafetyState:
        """Refuse motion."""
        self._locked = True
        self.pass_time(LOCK_TIME)
        return SafetyState(safety="locked")

    # Motion.

    def do_move_to(self, arguments: ToolPose, call: CallOptions) -> Pose:
        """Move in a straight line to the pose; obstacles are hit."""
        goal = _pose_of(arguments)
        self._handling.perform(call, lambda handling: handling.move(goal))
        return self._tip_reading()

    def do_home(self, arguments: NoArguments, call: CallOptions) -> Pose:
        """Move up to travel height, across, and to the rest pose."""
        goal = _pose_of(self.world.home)
        self._handling.perform(call, lambda handling: handling.go_over(goal))
        return self._tip_reading()

    def do_open_gripper(self, arguments: NoArguments, call: CallOptions) -> Gripper:
        """Release what is held, and open."""
        self._handling.perform(call, Handling.open)
        return self._gripper_reading()

    def do_close_gripper(self, arguments: NoArguments, call: CallOptions) -> Gripper:
        """Close with the standard torque on whatever is between the jaws."""
        self._handling.perform(call, Handling.close, closing=True)
        return self._gripper_reading()

    def do_pick(self, arguments: OneObject, call: CallOptions) -> Picked:
        """Move above the object and down, grip with a force that it bears, and move up."""
        name = arguments.object_id
        self._handling.perform(call, lambda handling: handling.pick(name), name)
        return Picked(object_id=name, **self._gripper_reading().model_dump())

    def do_place(self, arguments: Place, call: CallOptions) -> Placed:
        """Move above the place and down until the object stands or is there, release it, and move up."""
        held, goal = self._monitor.held, _place_of(arguments.model_dump())
        self._handling.perform(call, lambda handling: handling.place(goal))
        pose = (*self._physics.tip()[:3], 0.0) if held is None else self._physics.objects.pose(held)
        return Placed(gripper="open", **_rounded(PLACE, pose))

    def aid_next_motion(self, aid: Aid) -> None:
        """Set the aid of the next motion."""
        self._handling.next_aid = aid

    def view(self) -> So101View:
        """Return the state that the interlocks check."""
        held = self._monitor.held
        return So101View(
            world=self.world,
            locked=self._locked,
            empty=held is None,
            held=held,
            upright=self._physics.objects.upright,
            reachable=self._reachable,
        )

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

    def sensed(self, sensor: SensorName) -> float:
        """Return the true quantity of a sensor of the whole arm, in the unit of its key's description."""
        match sensor:
            case "gripper_closed":
                return float(self._handling.gripper == "closed")
            case "pose_reached":
                return float(self._handling.time.arrived)
            case "gripper_load":
                return self.joint_load(JOINTS[GRIPPER])
            case "finger_force":
                return max(self._monitor.squeeze.values(), default=0.0)
            case "bumper":
                return self._monitor.bump
        raise ValueError(f"{sensor} is no sensor of the whole arm")

    def forget_bump(self) -> None:
        """Clear the bumper's peak after a reading."""
        self._monitor.bump = 0.0

    def joint_load(self, joint: str) -> float:
        """Return the torque of a joint's servo, N m, without its sign."""
        return abs(self._physics.torques()[joint])

    @property
    def slots(self) -> tuple[str, ...]:
        """The bins, and the first place of every object."""
        return self._slots.names

    def occupied(self, slot: str) -> bool:
        """Return whether any object is at a slot."""
        return self._slots.occupied(slot, self._physics.objects)

    def _aperture(self) -> float:
        return self._physics.kinematics.gap(float(self._physics.angles()[GRIPPER]))

    def _tip_reading(self) -> Pose:
        return Pose(**_rounded(POSE, self._physics.tip()))

    def _joint_reading(self) -> Joints:
        angles, loads = self._physics.angles().tolist(), self._physics.torques()
        readings = {joint: round(angle, 3) + 0.0 for joint, angle in zip(JOINTS, angles, strict=True)}
        readings |= {f"{joint}_load": round(load, 1) + 0.0 for joint, load in loads.items()}
        return Joints(**readings)

    def _gripper_reading(self) -> Gripper:
        return Gripper(gripper=self._handling.gripper, holding=self._handling.holding)


def _pose_of(pose: ToolPose | So101Pose) -> Array:
    return np.array([pose.x, pose.y, pose.z, pose.pitch, pose.roll])


def _place_of(arguments: Mapping[str, Any]) -> Array:
    return np.array([arguments[axis] for axis in PLACE])


def _rounded(axes: Sequence[str], values: Sequence[float]) -> dict[str, float]:
    return {axis: round(value, 3) + 0.0 for axis, value in zip(axes, values, strict=True)}
