"""The robotic arm as a device: its tools over MuJoCo physics, on a virtual clock."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import mujoco
import numpy as np

from devices.robotic_arm.gripper_tools import (
    Gripper,
    NamedPose,
    Objects,
    OneObject,
    Picked,
    Placed,
    Pose,
    SafetyState,
)
from devices.robotic_arm.harm_rules import HARM_RULES
from devices.robotic_arm.interlocks import ARM_INTERLOCKS, ArmView, Point, tip_of_move
from devices.robotic_arm.safeguards import AXES as JOINTS
from devices.robotic_arm.tools import ROBOTIC_ARM, ToolPose
from devices.robotic_arm.world import BenchWorld, SensorName
from devices.tool import NoArguments, ToolResult
from sims.clock import Clock
from sims.coarse_sensors import CoarseSensor
from sims.robotic_arm import quantities, scene, sensors, truth
from sims.robotic_arm.aid import Aid
from sims.robotic_arm.call_time import LONGEST_SETTLING
from sims.robotic_arm.fitted_sensors import fitted
from sims.robotic_arm.handling import Handling
from sims.robotic_arm.harm_monitor import Curtain, HarmMonitor
from sims.robotic_arm.harm_pieces import SAME_EVENT
from sims.robotic_arm.interventions import ARM_INTERVENTIONS
from sims.robotic_arm.kinematics import Array
from sims.robotic_arm.motion import Motion
from sims.robotic_arm.physics import BenchPhysics
from sims.robotic_arm.slots import Slots
from sims.simulator import CallOptions, Simulator

LOCK_TIME = 0.1
"""Switching time of the safety relay, s."""
AXES = ("x", "y", "z", "yaw")


class ArmSimulator(Simulator[BenchWorld]):
    """The arm on its bench. The safe state is: arm and gripper as they are, safety locked.

    A gripper that holds something keeps holding it through a stop: releasing would drop it. While everything
    rests, time passes without physics.
    """

    name = "robotic_arm"
    firmware = f"pathrig-sim-arm (MuJoCo {mujoco.__version__})"
    device_type = ROBOTIC_ARM
    harm_rules = HARM_RULES
    interlocks = ARM_INTERLOCKS
    interventions = ARM_INTERVENTIONS
    horizon = LONGEST_SETTLING
    run_out_step = 0.5
    grain = SAME_EVENT
    kept = ("_physics", "_motion", "_handling", "_monitor", "_curtain", "_ticks", "_locked", "_weakness")

    # The base's hooks.

    def begin(self) -> None:
        """Build the bench anew and let the objects settle."""
        world = self.world
        self._physics = BenchPhysics(world)
        self._locked = world.safety_locked
        self._curtain = Curtain(world.light_curtain)
        self._monitor = HarmMonitor(self._physics, self.ledger, self._curtain, unlocked=not self._locked)
        self._motion = Motion(self._physics, self._monitor)
        self._handling = Handling(
            world, self._physics, self._monitor, self._motion, self.pass_time, self.clock
        )
        self._ticks = 0
        self._step_ticks = Clock.to_ticks(scene.TIMESTEP)
        self._weakness = 0.0
        self._slots = Slots(world, self._physics.objects, world.slot_radius)

    def left_out(self) -> None:
        """Let motions after this call start elsewhere than in the original."""
        self._handling.elsewhere = True

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
        """The world and the constant part of the bench."""
        return (self.world, self._physics.bench)

    def make_safe(self) -> None:
        """Hold the arm and the gripper where they are, and lock the safety."""
        self._motion.halt()
        self._motion.wake()
        self._set_lock(locked=True)

    def _set_lock(self, *, locked: bool) -> None:
        self._locked = locked
        self._monitor.unlocked = not locked

    def coarse_sensors(self) -> Sequence[CoarseSensor]:
        """Return the sensors that the world fits; `at_slot.SLOT` for bins and the objects' first places."""
        joints = {
            f"joint_current.{axis + 1}": partial(self.joint_torque, axis) for axis in range(len(JOINTS))
        }
        return fitted(self, self.world.sensors, self.world.hidden, joints)

    def state_dict(self) -> dict[str, Any]:
        """Return the whole state in SI units: see `docs/harm-rules-arm.md`."""
        return truth.state(self._physics, self._handling, self._monitor, self.clock.now)

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
        """Return the lock, the fingertips' pose, and the gripper's report."""
        results: dict[str, ToolResult] = {
            "lock_safety": SafetyState(safety="locked" if self._locked else "unlocked"),
            "sense_pose": self._tip_reading(),
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
        return frozenset(self._monitor.touch)

    # Reads.

    def do_sense_pose(self, arguments: NoArguments, call: CallOptions) -> Pose:
        """Read the fingertips' pose."""
        return self._tip_reading()

    def do_sense_gripper(self, arguments: NoArguments, call: CallOptions) -> Gripper:
        """Read whether the gripper is open, and whether something keeps the fingers apart."""
        return self._gripper_reading()

    def do_list_objects(self, arguments: NoArguments, call: CallOptions) -> Objects:
        """List all names."""
        return Objects(objects=list(self.world.objects), bins=list(self.world.bins))

    def do_get_object_pose(self, arguments: OneObject, call: CallOptions) -> NamedPose:
        """Read the pose to pick an object at, or to place into a bin at."""
        name = arguments.object_id
        tray = self.world.bins.get(name)
        if tray is not None:
            return NamedPose(name=name, **_rounded((tray.x, tray.y, tray.z, tray.yaw)))
        return NamedPose(name=name, **_rounded(self._physics.objects.pose(name)))

    # Safety.

    def do_unlock_safety(self, arguments: NoArguments, call: CallOptions) -> SafetyState:
        """Allow motion."""
        self.pass_time(LOCK_TIME)
        self._set_lock(locked=False)
        return SafetyState(safety="unlocked")

    def do_lock_safety(self, arguments: NoArguments, call: CallOptions) -> SafetyState:
        """Refuse motion."""
        self._set_lock(locked=True)
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
        home = self.world.home
        goal = np.array([home.x, home.y, home.z, home.yaw])
        self._handling.perform(call, lambda handling: handling.go_over(goal))
        return self._tip_reading()

    def do_open_gripper(self, arguments: NoArguments, call: CallOptions) -> Gripper:
        """Release what is held, and open all the way."""
        self._handling.perform(call, Handling.open)
        return self._gripper_reading()

    def do_close_gripper(self, arguments: NoArguments, call: CallOptions) -> Gripper:
        """Close with the standard force on whatever is between the fingers."""
        self._handling.perform(call, Handling.close, closing=True)
        return self._gripper_reading()

    def do_pick(self, arguments: OneObject, call: CallOptions) -> Picked:
        """Move above the object and down, grip with a force that it bears, and move up."""
        name = arguments.object_id
        down = self._handling.tip_to_pick(name)
        self._handling.perform(call, lambda handling: handling.pick(name, down), name)
        return Picked(object_id=name, **self._gripper_reading().model_dump())

    def do_place(self, arguments: ToolPose, call: CallOptions) -> Placed:
        """Move above the pose and down until the object stands or is there, release it, and move up."""
        name = self._physics.held
        down = self._handling.tip_to_place(_pose_of(arguments))
        self._handling.perform(call, lambda handling: handling.place(down), name)
        pose = self._physics.tip() if name is None else self._physics.objects.pose(name)
        return Placed(gripper="open", **_rounded(pose))

    def aid_next_motion(self, aid: Aid) -> None:
        """Set the aid of the next motion."""
        self._handling.next_aid = aid

    def ignore_curtain(self, *, ignored: bool) -> None:
        """Treat the light curtain as free, or end that."""
        self._curtain.ignored = ignored

    def view(self) -> ArmView:
        """Return the state that the interlocks check."""
        physics = self._physics
        return ArmView(
            world=self.world,
            locked=self._locked,
            empty=physics.held is None,
            held=physics.held,
            upright=physics.objects.upright,
            tip=self._tip_goal,
        )

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

    def sensed(self, sensor: SensorName) -> float:
        """Return the true quantity of a sensor of the whole arm, in the unit of its key's description."""
        return sensors.quantity(sensor, self._physics, self._handling, self._monitor, self.clock.now)

    def forget_bump(self) -> None:
        """Clear the bumper's peak after a reading."""
        self._monitor.bump = 0.0

    def joint_torque(self, axis: int) -> float:
        """Return the torque of a joint (from 0), N m."""
        return quantities.torques(self._physics)[axis]

    @property
    def slots(self) -> tuple[str, ...]:
        """The bins, and the first place of every object."""
        return self._slots.names

    def occupied(self, slot: str) -> bool:
        """Return whether any object is at a slot."""
        return self._slots.occupied(slot, self._physics.objects)

    def _tip_reading(self) -> Pose:
        return Pose(**_rounded(self._physics.tip()))

    def _gripper_reading(self) -> Gripper:
        return Gripper(gripper=self._handling.gripper, holding=self._handling.holding)


def _pose_of(arguments: ToolPose) -> Array:
    return np.array([arguments.x, arguments.y, arguments.z, arguments.yaw])


def _rounded(pose: Sequence[float]) -> dict[str, float]:
    x, y, z, yaw = (round(value, 3) + 0.0 for value in pose)
    return {"x": x, "y": y, "z": z, "yaw": yaw}
