"""Runs the arm: turns paths and grips into servo commands for every physics step."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from devices.arm.footprints import Footprint, overlap
from devices.arm.layout import fixtures, support
from devices.arm.things import GRIP_HEIGHT
from devices.robotic_arm.world import COLUMN
from sims.arm import scene_parts
from sims.arm.contact_mask import ContactMask
from sims.arm.geometry import Array
from sims.arm.motion import ArmMotion, steps
from sims.robotic_arm import scene
from sims.robotic_arm.harm_monitor import BenchMonitor
from sims.robotic_arm.kinematics import joint_angles
from sims.robotic_arm.physics import BenchPhysics

FINGER_SPEED = 0.06
"""Speed of each finger, m/s."""
APPROACH_FORCE = 6.0
"""Force with which the fingers close until they touch, N."""
SQUEEZE_TIME = 0.2
"""Rise time of the grip force, s."""
PAUSE = 0.1
"""Pause of a grip or a release after its motion, s."""


@dataclass(frozen=True)
class BenchProgram:
    """Commands for the next steps: `controls` (n, 8) are targets of the servos, rad, and of the fingers, m;
    `cap` (n,) is the fingers' force in N; `joints` and `poses` are what the servos are to reach.
    """

    controls: Array
    joints: Array
    poses: Array
    cap: list[float]

    def __len__(self) -> int:
        return len(self.cap)


def _program(servo: Array, joints: Array, poses: Array, finger: Array, cap: Array) -> BenchProgram:
    return BenchProgram(np.column_stack([servo, finger, finger]), joints, poses, cap.tolist())


class BenchMotion(ArmMotion[BenchProgram]):
    """Runs a program step by step on the physics and its monitor."""

    touch_force = 2.0
    physics: BenchPhysics
    monitor: BenchMonitor

    def __init__(self, physics: BenchPhysics, monitor: BenchMonitor) -> None:
        super().__init__(physics, monitor)
        self.mask = CollisionMask(physics)
        self.release_aid: Literal["lower", "beside"] | None = None
        """How a released object is set down."""

    # Programs.

    def along(self, poses: Array, finger: float | None = None) -> BenchProgram:
        """Return a program that follows poses (n, 4) while the fingers move to `finger`."""
        physics, count = self.physics, len(poses)
        joints = joint_angles(poses, physics.joints) if count else np.empty((0, 6))
        speeds = np.diff(joints, axis=0, prepend=physics.joints[None]) / scene_parts.TIMESTEP
        # The servos' damping acts on the whole speed: without this the arm would lag by KV / KP of it.
        servo = joints + scene.KV / scene.KP * speeds
        fingers, caps = np.full(count, physics.finger_target), np.full(count, physics.finger_cap)
        if finger is not None:
            fingers, caps = self._ramp(finger, count), np.full(count, scene.OPENING_FORCE)
        return _program(servo, joints, poses, fingers, caps)

    def standing(self, finger: Array, cap: Array) -> BenchProgram:
        """Return a program that moves only the fingers."""
        count = len(finger)
        joints = np.repeat(self.physics.joints[None], count, axis=0)
        poses = np.repeat(self.physics.target[None], count, axis=0)
        return _program(joints, joints, poses, finger, cap)

    def opening(self, half: float) -> BenchProgram:
        """Return a program that moves both fingers to `half` the aperture and pauses."""
        count = steps(abs(half - self.physics.aperture / 2) / FINGER_SPEED + PAUSE)
        return self.standing(self._ramp(half, count), np.full(count, scene.OPENING_FORCE))

    def approaching(self, half: float) -> BenchProgram:
        """Return a program that closes both fingers gently to `half` the aperture or until they stop."""
        count = steps(max(self.physics.aperture / 2 - half, 0.0) / FINGER_SPEED + PAUSE)
        return self.standing(self._ramp(half, count), np.full(count, APPROACH_FORCE))

    def squeezing(self, force: float) -> BenchProgram:
        """Return a program that raises the force to `force`, N, and pauses; the target lies beyond closed."""
        rise = np.linspace(min(APPROACH_FORCE, force), force, steps(SQUEEZE_TIME))
        cap = np.concatenate([rise, np.full(steps(PAUSE), force)])
        return self.standing(np.full(len(cap), -scene.OPENING_FORCE / scene.FINGER_KP * 2), cap)

    def _ramp(self, half: float, count: int) -> Array:
        start = self.physics.aperture / 2
        travel = np.arange(1, count + 1) * FINGER_SPEED * scene_parts.TIMESTEP
        return np.asarray(start + np.sign(half - start) * np.minimum(travel, abs(half - start)))

    # Running.

    def _forget_load(self) -> None:
        self.monitor.outside_force = 0.0

    def halt(self) -> None:
        """End the running program; the servos hold their last commanded pose."""
        self._catch_up()
        self._program = None
        self.physics.stand()
        self.resting = False

    def _meets_something(self) -> bool:
        return self.monitor.outside_force > self.physics.world.arm.protective_stop

    def _back(self, program: BenchProgram, rows: slice) -> BenchProgram:
        joints, poses = program.joints[rows][::-1], program.poses[rows][::-1]
        finger, cap = program.controls[rows, -1], np.array(program.cap[rows])
        return _program(joints, joints, poses, finger[-1:].repeat(len(joints)), cap)

    def _lets_go(self) -> bool:
        slips = self.physics.held is not None and self.physics.slips()
        if slips:
            self.release()
        return slips

    def release(self) -> None:
        """End the grip, intended or not; the object falls, unless an aid sets it down."""
        name = self.physics.let_go()
        if name is None:
            return
        if self.release_aid == "lower":
            self.mask.lower(name)
        elif self.release_aid == "beside":
            self.mask.put_beside(name)
        self.monitor.released(name)

    def set_down(self) -> None:
        """End the grip with the object straight down on its support."""
        name = self.physics.let_go()
        if name is not None:
            self.mask.lower(name)
            self.monitor.released(name)

    def _command(self, program: BenchProgram, row: int) -> None:
        self.physics.control(program.controls[row], program.cap[row])

    def _catch_up(self) -> None:
        """Set the physics' joints and target from the last row of the program that ran."""
        if self._program is not None and self._row:
            row = self._row - 1
            self.physics.joints, self.physics.target = self._program.joints[row], self._program.poses[row]


RING_STEP, FARTHEST, DIRECTIONS = 0.005, 0.5, 48
"""Free places are searched on rings this far apart, up to this far away (m), in this many directions."""
ROOM = 0.003
"""Gap round an object that is set down beside others, m."""


class CollisionMask(ContactMask):
    """The bench's mask, which also puts objects beside others."""

    def __init__(self, physics: BenchPhysics) -> None:
        super().__init__(physics)
        self._physics: BenchPhysics = physics

    def put_beside(self, name: str) -> None:
        """Put an object, upright and at rest, on the nearest free place of the bench or of a bin."""
        physics = self._physics
        world, thing = physics.world, physics.world.objects[name]
        x, y, z, yaw = physics.objects.pose(name)
        taken = [*fixtures(world, COLUMN), *self._others(name), self._gripper()]
        half_length, half_width = thing.size[0] / 2 + ROOM, thing.size[1] / 2 + ROOM
        for px, py in _rings(x, y):
            low = support(world, px, py)
            here = Footprint(
                name,
                px,
                py,
                yaw,
                half_length,
                half_width,
                low,
                low + thing.size[2],
                thing.shape == "cylinder",
            )
            if not any(overlap(here, other) for other in taken):
                x, y, z = px, py, low + GRIP_HEIGHT
                break
        start = physics.bench.qpos[name]
        physics.data.qpos[start : start + 7] = (x, y, z, math.cos(yaw / 2), 0.0, 0.0, math.sin(yaw / 2))
        self.stop(name)

    def _others(self, name: str) -> Iterator[Footprint]:
        physics = self._physics
        for other, thing in physics.world.objects.items():
            if other != name:
                x, y, z, yaw = physics.objects.pose(other)
                low = z - GRIP_HEIGHT
                # A thing that fell over may reach as far as its longest side.
                half = (
                    thing.size[:2] if physics.objects.upright(other) else (max(thing.size), max(thing.size))
                )
                yield Footprint(other, x, y, yaw, half[0] / 2, half[1] / 2, low, low + thing.size[2])

    def _gripper(self) -> Footprint:
        x, y, z, yaw = self._physics.tip()
        half_width = self._physics.world.arm.opening / 2 + scene.FINGER_THICKNESS
        return Footprint("gripper", x, y, yaw, scene.FINGER_WIDTH / 2, half_width, z, np.inf)


def _rings(x: float, y: float) -> Iterator[tuple[float, float]]:
    for k in range(round(FARTHEST / RING_STEP)):
        for j in range(DIRECTIONS):
            angle = 2 * math.pi * j / DIRECTIONS
            yield x + k * RING_STEP * math.cos(angle), y + k * RING_STEP * math.sin(angle)
