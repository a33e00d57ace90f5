"""Moves the arm: turns ways and grips into servo commands for every physics step, and runs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from sims.robotic_arm import scene
from sims.robotic_arm.collision_mask import CollisionMask
from sims.robotic_arm.harm_monitor import SLOW_STEPS, HarmMonitor
from sims.robotic_arm.kinematics import Array, joint_angles
from sims.robotic_arm.physics import BenchPhysics

FINGER_SPEED = 0.06
"""Of each finger, m/s."""
APPROACH_FORCE = 6.0
"""With which the fingers close until they touch, N."""
SQUEEZE_TIME = 0.2
"""In which the force rises to that of the grip, s."""
PAUSE = 0.1
"""That a grip or a release takes after its motion, s."""
TOUCH_FORCE = 2.0
"""At which a descent that feels for its support ends, N."""


@dataclass(frozen=True)
class Program:
    """Commands for the next steps: `controls` (n, 8) are targets of the servos, rad, and of the fingers, m;
    `cap` (n,) is the fingers' force in N; `joints` and `poses` are what the servos are to reach.
    """

    controls: Array
    joints: Array
    poses: Array
    cap: list[float]

    def __len__(self) -> int:
        return len(self.cap)


def _program(servo: Array, joints: Array, poses: Array, finger: Array, cap: Array) -> Program:
    return Program(np.column_stack([servo, finger, finger]), joints, poses, cap.tolist())


def steps(seconds: float) -> int:
    """Whole physics steps in this time."""
    return round(seconds / scene.TIMESTEP)


class Motion:
    """The program that runs, step by step, and the physics and the watch that it drives."""

    def __init__(self, physics: BenchPhysics, watch: HarmMonitor) -> None:
        self.physics = physics
        self.watch = watch
        self.ghosts = CollisionMask(physics)
        self.release_aid: Literal["lower", "beside"] | None = None
        """How what is let go is set down."""
        self.resting = True
        """Nothing moves, so physics need not be run until the next program."""
        self._program: Program | None = None
        self._row = 0
        self._feeling = False
        self._roused = False
        self.ran = 0
        """Steps of physics computed so far."""

    # Programs.

    def along(self, poses: Array, finger: float | None = None) -> Program:
        """A program that follows poses (n, 4), the fingers going to `finger` meanwhile."""
        physics, count = self.physics, len(poses)
        joints = joint_angles(poses, physics.joints) if count else np.empty((0, 6))
        speeds = np.diff(joints, axis=0, prepend=physics.joints[None]) / scene.TIMESTEP
        # The servos' damping acts on the whole speed: without this the arm would lag by KV / KP of it.
        servo = joints + scene.KV / scene.KP * speeds
        fingers, caps = np.full(count, physics.finger_target), np.full(count, physics.finger_cap)
        if finger is not None:
            fingers, caps = self._ramp(finger, count), np.full(count, scene.OPENING_FORCE)
        return _program(servo, joints, poses, fingers, caps)

    def standing(self, finger: Array, cap: Array) -> Program:
        """A program that moves only the fingers."""
        count = len(finger)
        joints = np.repeat(self.physics.joints[None], count, axis=0)
        poses = np.repeat(self.physics.target[None], count, axis=0)
        return _program(joints, joints, poses, finger, cap)

    def opening(self, half: float) -> Program:
        """Both fingers to `half` the aperture, and a pause."""
        count = steps(abs(half - self.physics.aperture / 2) / FINGER_SPEED + PAUSE)
        return self.standing(self._ramp(half, count), np.full(count, scene.OPENING_FORCE))

    def approaching(self, half: float) -> Program:
        """Both fingers inwards, gently, to `half` the aperture or until something stops them."""
        count = steps(max(self.physics.aperture / 2 - half, 0.0) / FINGER_SPEED + PAUSE)
        return self.standing(self._ramp(half, count), np.full(count, APPROACH_FORCE))

    def squeezing(self, force: float) -> Program:
        """The force up to `force`, N, and a pause; the fingers' target lies beyond closed."""
        rise = np.linspace(min(APPROACH_FORCE, force), force, steps(SQUEEZE_TIME))
        cap = np.concatenate([rise, np.full(steps(PAUSE), force)])
        return self.standing(np.full(len(cap), -scene.OPENING_FORCE / scene.FINGER_KP * 2), cap)

    def _ramp(self, half: float, count: int) -> Array:
        start = self.physics.aperture / 2
        way = np.arange(1, count + 1) * FINGER_SPEED * scene.TIMESTEP
        return np.asarray(start + np.sign(half - start) * np.minimum(way, abs(half - start)))

    # Running.

    def load(self, program: Program, *, feeling: bool = False) -> None:
        """Make this the running program; `feeling` ends it when the held object meets its support."""
        self._program, self._row, self._feeling = program, 0, feeling
        self.resting = self._roused = False

    def halt(self) -> None:
        """End the running program; the servos hold the pose that they were last told."""
        self._catch_up()
        self._program = None
        self.physics.stand()
        self.resting = False

    def run(self, count: int, t: float) -> None:
        """`count` steps of physics from device time `t`, s; none are computed while everything rests."""
        if self.resting:
            return
        physics, watch = self.physics, self.watch
        step, look = physics.step, watch.after_step
        for k in range(1, count + 1):
            if self._program is not None:
                self._command_next(self._program)
            step()
            look(t + k * scene.TIMESTEP)
            if self._feeling and watch.support_force > TOUCH_FORCE:
                self._feeling = False
                self.halt()
            self.ran += 1
            if self.ran % SLOW_STEPS == 0:
                if physics.held is not None and physics.slips():
                    self.release()
                elif self._roused and self.settled() and self.resting:
                    break
        self._catch_up()
        physics.sync()

    def release(self) -> None:
        """End the grip, by the fingers' will or not; what was held falls, unless it is helped down."""
        name = self.physics.let_go()
        if name is None:
            return
        if self.release_aid == "lower":
            self.ghosts.lower(name)
        elif self.release_aid == "beside":
            self.ghosts.put_beside(name)
        self.watch.released(name)

    def set_down(self) -> None:
        """End the grip with what was held straight down on its support."""
        name = self.physics.let_go()
        if name is not None:
            self.ghosts.lower(name)
            self.watch.released(name)

    def rouse(self) -> None:
        """Let physics run until everything rests again, without a program."""
        self.resting = False
        self._roused = True

    def _command_next(self, program: Program) -> None:
        row = self._row
        if row == len(program.cap):
            self.halt()
            self._feeling = False
            return
        self.physics.control(program.controls[row], program.cap[row])
        self._row = row + 1

    def _catch_up(self) -> None:
        """Tell the physics how far the running program has come."""
        if self._program is not None and self._row:
            row = self._row - 1
            self.physics.joints, self.physics.target = self._program.joints[row], self._program.poses[row]

    def settled(self) -> bool:
        """Whether all motion has ended; physics is then skipped, unless harm goes on."""
        settled = self._program is None and self.physics.at_rest()
        self.resting = settled and not self.watch.active
        self._roused = self._roused and not self.resting
        return settled
