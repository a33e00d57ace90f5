"""Whole motions of the arm: travelling over the bench, gripping, releasing, picking and placing."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from devices.arm.things import GRIP_HEIGHT
from devices.robotic_arm.world import BenchWorld
from sims.arm import scene_parts
from sims.arm.call_time import TICK
from sims.arm.geometry import Array, wrapped
from sims.arm.handling import ArmHandling
from sims.arm.motion import NO_AID, MotionLimits, steps
from sims.robotic_arm import detour, scene
from sims.robotic_arm.harm_monitor import BenchMonitor
from sims.robotic_arm.motion import BenchMotion
from sims.robotic_arm.physics import BenchPhysics
from sims.robotic_arm.trajectory import retimed, route, within_joint_speeds
from sims.simulator import CallOptions
from sims.time_stepping import RigFault

UNLIMITED = (1000.0,) * 6
"""Torques of the drives in a motion that passes through things, N m."""
PICK_SHARE = 0.7
"""Maximum share of an object's force limit that `pick` grips with."""
SOFT_SHARE = 0.95
"""Share of the force limit in the counterfactual of a hard grip."""
CLEARANCE = 0.03
"""Opening of the gripper beyond the object's width, m."""
FEEL, FEEL_SPEED, FEEL_ACCELERATION = 0.01, 0.02, 0.1
"""Last part of a descent, m, in which an object feels for its support; its speed and acceleration."""
HEADROOM = 0.06
"""Gap between the fingertips at travel height and the highest thing, m; a load hangs 0.02 below them."""
HOLDING_APERTURE = 0.002
"""A closed gripper that is open wider than this, m, reports that it holds something."""


class BenchHandling(ArmHandling[BenchWorld]):
    """Motions of the arm from start to rest."""

    stopped = (
        "The arm met something with more than {arm.protective_stop:g} N and stopped itself. "
        "The safety is locked now: call unlock_safety, and move away from it."
    )
    _physics: BenchPhysics
    _monitor: BenchMonitor
    _motion: BenchMotion

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.elsewhere = False
        """In a counterfactual: the arm may stand elsewhere than in the original at this moment."""
        arm = self.world.arm
        self._limits = MotionLimits(arm.speed, arm.acceleration, arm.yaw_speed)
        self._joint_speeds = np.array(arm.joint_speeds())
        self._travel = _travel_height(self.world, self._physics)

    @property
    def holding(self) -> bool:
        """Whether the closed gripper reports that something keeps its fingers apart."""
        return self.gripper == "closed" and self._physics.aperture > HOLDING_APERTURE

    def _wait(
        self, call: CallOptions, action: Callable[[Any], None], target: str | None, closing: bool
    ) -> None:
        """Let a counterfactual's motion that starts elsewhere end with its duration."""
        if call.duration is not None and self.elsewhere:
            natural = self._rehearse(call, action, target, closing)
            self.time.pass_time(max(0.0, call.duration - natural), TICK)

    def _rehearse(
        self, call: CallOptions, action: Callable[[BenchHandling], None], target: str | None, closing: bool
    ) -> float:
        """Return the natural duration of a motion, s, from a rehearsal on a copy of everything."""
        count = 0

        def run(seconds: float, tick: float) -> None:
            nonlocal count
            twin._motion.run(steps(seconds), 0.0)
            count += steps(seconds)

        memo: dict[int, Any] = {id(thing): thing for thing in (self.world, self._physics.bench)}
        ledger = self._monitor.pieces.ledger
        memo |= {id(self.time.pass_time): run, id(ledger): type(ledger)()}
        twin = copy.deepcopy(self, memo)
        twin.time.begin(None)
        twin._begin(call, target, closing)
        with suppress(RigFault):
            action(twin)
        return count * scene_parts.TIMESTEP

    def _help(self, target: str | None, *, closing: bool) -> None:
        grips = closing or target not in (None, self._physics.held)
        mask, aid = self._motion.mask, self.next_aid
        self._aid, self._motion.release_aid, self.next_aid = aid, aid.release, NO_AID
        # A held object is pressed harder only where it meets something: the grip cannot change that.
        if aid.passes_through or (aid.soft_grip and not grips) or mask.active:
            mask.apply(target or self._physics.held)
        self._motion.guarded = not aid.passes_through
        # A way over everything in the time of a short push needs more than drives can give.
        limits: tuple[float, ...] = UNLIMITED if aid.passes_through else scene.TORQUE_LIMITS
        if aid.limits_torque:
            bounds = self.world.limits
            limits = tuple(map(min, bounds.torques(), bounds.peaks()))
        self._physics.limit_torques(limits)

    # Whole motions.

    def move(self, goal: Array) -> None:
        """Move in a straight line; in a detour over everything, in the same time."""
        path = self._path(goal)
        if self._aid.goes_over and len(path):
            path = retimed(self._path(*self._over(goal), goal), self._physics.target, len(path))
        self._follow(path)
        self._arrive()

    def go_over(self, goal: Array) -> None:
        """Move up to travel height, across, and down."""
        self._follow(self._path(*self._over(goal), goal))
        self._arrive()

    def open(self) -> None:
        """Release what is held, and open the gripper fully."""
        self._let_go(self.world.arm.opening / 2)
        self.time.settle()

    def close(self) -> None:
        """Close with the standard force on whatever is between the fingers."""
        self._grip(self.world.arm.grip_force, 0.0)
        self.time.settle()

    def pick(self, name: str, down: Array) -> None:
        """Descend, grip with a force that the object bears, and move up; a held object is set down first."""
        thing = self.world.objects[name]
        above = self._at_travel(down)
        fitting = min(thing.width + CLEARANCE, self.world.arm.opening) / 2
        self._motion.set_down()
        self.gripper = "open"
        self._follow(self._path(*self._over(above)), fitting)
        if abs(self._physics.finger_target - fitting) > HOLDING_APERTURE:  # the path was too short
            self.time.run(self._motion.opening(fitting))
        self._follow(self._path(down))
        force = min(self.world.arm.grip_force, PICK_SHARE * thing.force_limit)
        self._grip(force, thing.width / 2 - 0.004)
        self._follow(self._path(above))
        self._arrive()

    def place(self, down: Array) -> None:
        """Move above the goal and down until the load stands or is there, release it, and move up."""
        name = self._physics.held
        above = self._at_travel(down)
        feel = down.copy()
        feel[2] = min(feel[2] + FEEL, above[2])
        self._follow(self._path(*self._over(above), feel))
        slowly = MotionLimits(FEEL_SPEED, FEEL_ACCELERATION, self._limits.yaw_speed)
        self._follow(route([self._physics.target, down], slowly, scene_parts.TIMESTEP), feeling=True)
        opening = self.world.arm.opening
        fitting = opening if name is None else min(self.world.objects[name].width + CLEARANCE, opening)
        self._let_go(fitting / 2)
        self._follow(self._path(above))
        self.time.run(self._motion.opening(opening / 2))
        self._arrive()

    # Where the fingertips go.

    def tip_to_pick(self, name: str) -> Array:
        """Return the fingertip pose that grips an object, with the smallest turn of the gripper."""
        x, y, z, yaw = self._physics.objects.pose(name)
        now = float(self._physics.target[3])
        turn = wrapped(yaw - now)
        turn -= math.pi * round(turn / math.pi)  # the gripper is the same after half a turn
        return np.array([x, y, z, now + turn])

    def tip_to_place(self, goal: Array) -> Array:
        """Return the fingertip pose that puts the held object's reference point at a pose."""
        if self._physics.held is None:
            return goal
        dx, dy, dz, turn = self._physics.held_offset()
        yaw = goal[3] - turn
        c, s = math.cos(yaw), math.sin(yaw)
        return np.array([goal[0] - c * dx + s * dy, goal[1] - s * dx - c * dy, goal[2] - dz, yaw])

    def _path(self, *points: Array) -> Array:
        physics, keep_out = self._physics, self.world.arm.inner_reach
        path = route([physics.target, *points], self._limits, scene_parts.TIMESTEP, keep_out=keep_out)
        return within_joint_speeds(
            path, physics.joints, physics.target, self._joint_speeds, scene_parts.TIMESTEP
        )

    def _at_travel(self, pose: Array) -> Array:
        return np.array([pose[0], pose[1], max(self._travel, pose[2]), pose[3]])

    def _over(self, pose: Array) -> tuple[Array, Array]:
        return self._at_travel(self._physics.target), self._at_travel(pose)

    # Parts of motions.

    def _follow(self, path: Array, finger: float | None = None, *, feeling: bool = False) -> None:
        zone = self._aid.round_zone
        if zone is not None:
            path = detour.outside(path, self._physics, zone, self._limits, scene_parts.TIMESTEP)
        self.time.run(self._motion.along(path, finger), feeling=feeling)

    def _grip(self, force: float, half: float) -> None:
        self.gripper = "closed"
        if self._physics.held is None:
            self.time.run(self._motion.approaching(half))
        between = self._monitor.between_fingers
        if between is not None and self._aid.soft_grip:
            borne = SOFT_SHARE * self.world.objects[between].force_limit
            force = min(force, borne / self.world.hidden.grip_force)
        self.time.run(self._motion.squeezing(force))
        between = self._monitor.between_fingers
        if between is not None and self._physics.held is None:
            self._physics.grip(between)

    def _let_go(self, half_open: float) -> None:
        self.gripper = "open"
        self._motion.release()
        self.time.run(self._motion.opening(half_open))

    def _arrive(self) -> None:
        self.time.settle()
        self.elsewhere = self._aid.round_zone is not None


def _travel_height(world: BenchWorld, physics: BenchPhysics) -> float:
    """Return the height of the fingertips above everything on the bench, m, as far as the arm reaches."""
    lows = physics.objects.positions()[:, 2] - GRIP_HEIGHT
    tops = [low + thing.size[2] for low, thing in zip(lows, world.objects.values(), strict=True)]
    tops += [block.z + block.size[2] for block in world.obstacles.values()]
    tops += [tray.floor + tray.wall_height for tray in world.bins.values()]
    needed = max((float(top) + HEADROOM for top in tops), default=0.0)
    return min(max(world.arm.travel_height, needed), world.arm.ceiling)
