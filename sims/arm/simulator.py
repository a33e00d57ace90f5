"""The robotic arm as a device: its tools over MuJoCo physics, on a virtual clock."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from devices.harm import Remedy
from devices.robotic_arm import interlocks
from devices.robotic_arm.harm_rules import HARM_RULES
from devices.robotic_arm.tools import (
    ROBOTIC_ARM,
    Gripper,
    NamedPose,
    Objects,
    OneObject,
    Picked,
    Placed,
    Pose,
    SafetyState,
    ToolPose,
)
from devices.robotic_arm.world import GRIP_HEIGHT, BenchWorld
from devices.tool import NoArguments
from sims.arm import scene
from sims.arm.harm_watch import HarmWatch
from sims.arm.kinematics import Array, wrapped
from sims.arm.motion import Motion, Program
from sims.arm.physics import BenchPhysics
from sims.arm.trajectory import MotionLimits, retimed, route
from sims.clock import Clock
from sims.coarse_sensors import CoarseSensor
from sims.simulator import CallOptions, Simulator

TICK = 0.04
"""Device time between two looks at the stop, s."""
LOCK_TIME = 0.1
"""That the safety relay takes, s."""
SETTLE_TICK, LONGEST_SETTLING = 0.02, 2.0
"""A motion ends when everything rests, looked at so often, or after this time, s."""
PICK_SHARE = 0.7
"""Share of an object's force limit that `pick` grips with at most."""
CLEARANCE = 0.03
"""By which the gripper is opened wider than an object, m."""
FEEL, FEEL_SPEED = 0.015, 0.05
"""The last part of a way down, m, in which an object feels for its support, and its speed, m/s."""
HEADROOM = 0.06
"""Between the fingertips at travel height and the highest thing, m; what is held hangs 0.02 below them."""
HOLDING_APERTURE = 0.002
"""A closed gripper that stands open wider than this, m, reports that it holds something."""

STEP_TICKS = Clock.to_ticks(scene.TIMESTEP)


class ArmSimulator(Simulator[BenchWorld]):
    """The arm on its bench. The safe state is: arm held where it is, gripper as it is, safety locked.

    A gripper that holds something keeps holding it through a stop: to let go would drop it.
    """

    name = "robotic_arm"
    firmware = f"pathrig-sim-arm (MuJoCo {mujoco.__version__})"
    device_type = ROBOTIC_ARM
    harm_rules = HARM_RULES

    # What the base asks for.

    def begin(self) -> None:
        """Build the bench anew and let the objects settle."""
        world = self.world
        self._physics = BenchPhysics(world)
        self._watch = HarmWatch(self._physics, self.ledger)
        self._motion = Motion(self._physics, self._watch)
        self._ticks = 0
        self._locked = world.safety_locked
        self._gripper = world.gripper
        arm = world.arm
        self._limits = MotionLimits(arm.speed, arm.acceleration, arm.yaw_speed)
        self._slots = {name: np.array([tray.x, tray.y, tray.z]) for name, tray in world.bins.items()}
        self._slots |= {name: self._physics.position(name).copy() for name in world.objects}
        tops = [self._physics.position(n)[2] - GRIP_HEIGHT + o.size[2] for n, o in world.objects.items()]
        tops += [block.z + block.size[2] for block in world.obstacles.values()]
        tops += [tray.floor + tray.wall_height for tray in world.bins.values()]
        self._travel = min(max([arm.travel_height, *(float(top) + HEADROOM for top in tops)]), arm.ceiling)

    def evolve(self, seconds: float) -> None:
        """Run the physics up to the last whole step within this time."""
        end = self.clock.ticks + Clock.to_ticks(seconds)
        count = (end - self._ticks) // STEP_TICKS
        self._motion.run(count, Clock.to_seconds(self._ticks))
        self._ticks += count * STEP_TICKS

    def make_safe(self) -> None:
        """Hold the arm and the gripper where they are, and lock the safety."""
        self._motion.halt()
        self._locked = True

    def coarse_sensors(self) -> Sequence[CoarseSensor]:
        """`gripper_closed`, and `at_slot.SLOT` for every bin and every object's first place."""
        specs = self.world.sensors
        found = []
        if "gripper_closed" in specs:
            closed = lambda: float(self._gripper == "closed")  # noqa: E731
            found.append(CoarseSensor("gripper_closed", specs["gripper_closed"], closed))
        if "at_slot" in specs:
            for slot in self._slots:
                occupied = lambda slot=slot: float(self._occupied(slot))  # noqa: E731
                found.append(CoarseSensor(f"at_slot.{slot}", specs["at_slot"], occupied))
        return found

    def state_dict(self) -> dict[str, Any]:
        """Everything: lock, gripper, fingertip pose, joints, objects, contacts."""
        physics = self._physics
        axes = ("x", "y", "z", "yaw")
        return {
            "safety_locked": self._locked,
            "gripper": self._gripper,
            "holding": physics.held,
            "pose": dict(zip(axes, physics.tip(), strict=True)),
            "objects": {
                name: dict(zip(axes, physics.object_pose(name), strict=True)) for name in physics.objects
            },
            "joints": physics.data.qpos[:6].tolist(),
            "aperture": physics.aperture,
            "contacts": physics.contacts(),
        }

    def coarse_state(self) -> dict[str, Any]:
        """The lock, the gripper's own word, whether the arm is at home, and the slots."""
        home = self.world.home
        tip = self._physics.tip()
        return {
            "safety": "locked" if self._locked else "unlocked",
            **self._gripper_reading().model_dump(),
            "at_home": math.dist(tip[:3], (home.x, home.y, home.z)) < self.world.slot_radius,
            "at_slot": {slot: self._occupied(slot) for slot in self._slots},
            "_pose": self._tip_reading().model_dump(),
        }

    # Reads.

    def do_sense_pose(self, arguments: NoArguments, call: CallOptions) -> Pose:
        """The fingertips' pose."""
        return self._tip_reading()

    def do_sense_gripper(self, arguments: NoArguments, call: CallOptions) -> Gripper:
        """Open or closed, and whether something keeps the fingers apart."""
        return self._gripper_reading()

    def do_list_objects(self, arguments: NoArguments, call: CallOptions) -> Objects:
        """All names."""
        return Objects(objects=list(self.world.objects), bins=list(self.world.bins))

    def do_get_object_pose(self, arguments: OneObject, call: CallOptions) -> NamedPose:
        """The pose to pick an object at, or to place into a bin at."""
        name = arguments.object_id
        interlocks.require_thing(self.world, name)
        tray = self.world.bins.get(name)
        if tray is not None:
            return NamedPose(name=name, **_rounded((tray.x, tray.y, tray.z, tray.yaw)))
        return NamedPose(name=name, **_rounded(self._physics.object_pose(name)))

    # The safety.

    def do_unlock_safety(self, arguments: NoArguments, call: CallOptions) -> SafetyState:
        """Motion is allowed from now on."""
        self.pass_time(LOCK_TIME)
        self._locked = False
        return SafetyState(safety="unlocked")

    def do_lock_safety(self, arguments: NoArguments, call: CallOptions) -> SafetyState:
        """Motion is refused from now on."""
        self._locked = True
        self.pass_time(LOCK_TIME)
        return SafetyState(safety="locked")

    # Motion.

    def do_move_to(self, arguments: ToolPose, call: CallOptions) -> Pose:
        """A straight line to the pose; whatever is in the way is hit."""
        self._require_unlocked(call)
        goal = np.array([arguments.x, arguments.y, arguments.z, arguments.yaw])
        self._require_reach(goal)
        self._begin(call)
        way = self._way(goal)
        if call.remedy is not None:
            start = self._physics.target
            over = self._way(*self._over(goal), goal)
            way = retimed(over, start, len(way))
        self._follow(way)
        self._settle()
        return self._tip_reading()

    def do_home(self, arguments: NoArguments, call: CallOptions) -> Pose:
        """Up to travel height, across, and to the rest pose."""
        self._require_unlocked(call)
        home = self.world.home
        goal = np.array([home.x, home.y, home.z, home.yaw])
        self._begin(call)
        self._follow(self._way(*self._over(goal), goal))
        self._settle()
        return self._tip_reading()

    def do_open_gripper(self, arguments: NoArguments, call: CallOptions) -> Gripper:
        """Let go of what is held, and open all the way."""
        self._require_unlocked(call)
        self._begin(call)
        self._let_go(call, self.world.arm.opening / 2)
        self._settle()
        return self._gripper_reading()

    def do_close_gripper(self, arguments: NoArguments, call: CallOptions) -> Gripper:
        """Close with the standard force on whatever is between the fingers."""
        self._require_unlocked(call)
        self._begin(call, closing=True)
        self._grip(call, self.world.arm.grip_force, 0.0)
        self._settle()
        return self._gripper_reading()

    def do_pick(self, arguments: OneObject, call: CallOptions) -> Picked:
        """Above the object, down, grip with a force that it bears, and up again."""
        self._require_unlocked(call)
        name, physics = arguments.object_id, self._physics
        interlocks.require_object(self.world, name)
        if not call.forced:
            interlocks.require_empty(physics.held)
        thing = self.world.objects[name]
        x, y, z, yaw = physics.object_pose(name)
        interlocks.require_upright(name, physics.upright(name))
        turn = wrapped(yaw - physics.target[3])
        turn -= math.pi * round(turn / math.pi)  # the gripper is the same after half a turn
        down = np.array([x, y, z, physics.target[3] + turn])
        self._require_reach(down)
        self._begin(call, name)
        above = self._at_travel(down)
        fitting = min(thing.width + CLEARANCE, self.world.arm.opening) / 2
        if physics.held is not None:
            self._release_held(gently=True)
        self._gripper = "open"
        self._follow(self._way(*self._over(above)), fitting)
        self._follow(self._way(down))
        self._gripper = "closed"
        force = min(self.world.arm.grip_force, PICK_SHARE * thing.force_limit)
        self._grip(call, force, thing.width / 2 - 0.004)
        self._follow(self._way(above))
        self._settle()
        return Picked(object_id=name, **self._gripper_reading().model_dump())

    def do_place(self, arguments: ToolPose, call: CallOptions) -> Placed:
        """Above the pose, down until the object stands or is there, let go, and up again."""
        self._require_unlocked(call)
        physics = self._physics
        if not call.forced:
            interlocks.require_held(physics.held)
        interlocks.require_place_height(arguments.z)
        goal = np.array([arguments.x, arguments.y, arguments.z, arguments.yaw])
        name = physics.held
        down = self._tip_for(goal)
        self._require_reach(down)
        self._begin(call, name)
        above = self._at_travel(down)
        feel = down + [0.0, 0.0, min(FEEL, above[2] - down[2]), 0.0]
        self._follow(self._way(*self._over(above), feel))
        slowly = MotionLimits(FEEL_SPEED, self._limits.acceleration, self._limits.yaw_speed)
        self._follow(route([physics.target, down], slowly, scene.TIMESTEP), feeling=True)
        half_open = self.world.arm.opening / 2
        width = half_open * 2 if name is None else self.world.objects[name].width + CLEARANCE
        self._let_go(call, min(width / 2, half_open))
        self._follow(self._way(above))
        self._run(self._motion.opening(half_open))
        self._settle()
        pose = physics.tip() if name is None else physics.object_pose(name)
        return Placed(gripper="open", **_rounded(pose))

    # How motion is made.

    def _require_unlocked(self, call: CallOptions) -> None:
        if not call.forced:
            interlocks.require_unlocked(self._locked)

    def _require_reach(self, tip: Array) -> None:
        interlocks.require_reach(self.world, float(tip[0]), float(tip[1]), float(tip[2]))

    def _begin(self, call: CallOptions, target: str | None = None, *, closing: bool = False) -> None:
        self._watch.begin_call(call.index, target, closing=closing)
        if call.remedy in (Remedy.DETOUR, Remedy.GENTLE_RELEASE):
            self._physics.mask(target or self._physics.held)

    def _way(self, *points: Array) -> Array:
        keep_out = self.world.arm.inner_reach
        return route([self._physics.target, *points], self._limits, scene.TIMESTEP, keep_out=keep_out)

    def _at_travel(self, pose: Array) -> Array:
        return np.array([pose[0], pose[1], max(self._travel, pose[2]), pose[3]])

    def _over(self, pose: Array) -> tuple[Array, Array]:
        """Points at travel height: above where the arm is, and above the pose."""
        return self._at_travel(self._physics.target), self._at_travel(pose)

    def _tip_for(self, goal: Array) -> Array:
        """The fingertip pose that puts the held object's reference point at a pose."""
        if self._physics.held is None:
            return goal
        dx, dy, dz, dyaw = self._physics.held_offset()
        yaw = goal[3] - dyaw
        c, s = math.cos(yaw), math.sin(yaw)
        return np.array([goal[0] - c * dx + s * dy, goal[1] - s * dx - c * dy, goal[2] - dz, yaw])

    def _follow(self, way: Array, finger: float | None = None, *, feeling: bool = False) -> None:
        self._run(self._motion.along(way, finger), feeling=feeling)

    def _run(self, program: Program, *, feeling: bool = False) -> None:
        self._motion.load(program, feeling=feeling)
        self.pass_time(len(program) * scene.TIMESTEP, TICK)
        self._physics.unmask()

    def _grip(self, call: CallOptions, force: float, half: float) -> None:
        if self._physics.held is None:
            self._run(self._motion.approaching(half))
        self._gripper = "closed"
        between = self._watch.between_fingers
        if between is not None and call.remedy is Remedy.SOFT_GRIP:
            force = min(force, self.world.objects[between].force_limit)
        self._run(self._motion.squeezing(force))
        between = self._watch.between_fingers
        if between is not None:
            self._physics.grip(between, force)

    def _let_go(self, call: CallOptions, half_open: float) -> None:
        self._gripper = "open"
        self._release_held(gently=call.remedy is Remedy.GENTLE_RELEASE)
        self._run(self._motion.opening(half_open))

    def _release_held(self, *, gently: bool) -> None:
        name = self._physics.let_go()
        if name is None:
            return
        if gently:
            self._physics.lower(name)
        self._watch.released(name)

    def _settle(self) -> None:
        """Let everything come to rest."""
        for _ in range(round(LONGEST_SETTLING / SETTLE_TICK)):
            self.pass_time(SETTLE_TICK)
            if self._motion.rests():
                break
        self._physics.unmask()

    # Readings.

    def _occupied(self, slot: str) -> bool:
        away = self._physics.positions() - self._slots[slot]
        return bool((np.linalg.norm(away, axis=1) <= self.world.slot_radius).any())

    def _tip_reading(self) -> Pose:
        return Pose(**_rounded(self._physics.tip()))

    def _gripper_reading(self) -> Gripper:
        holding = self._gripper == "closed" and self._physics.aperture > HOLDING_APERTURE
        return Gripper(gripper=self._gripper, holding=holding)


def _rounded(pose: Sequence[float]) -> dict[str, float]:
    x, y, z, yaw = (round(value, 3) + 0.0 for value in pose)
    return {"x": x, "y": y, "z": z, "yaw": yaw}
