"""Whole motions of the arm: travelling over the table, gripping, releasing, picking and placing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from devices.arm.things import GRIP_HEIGHT, BenchObject
from devices.so101_arm.world import DOWN, So101World
from sims.arm import scene_parts
from sims.arm.geometry import Array, UnreachableError, wrapped
from sims.arm.handling import ArmHandling
from sims.arm.motion import NO_AID, steps
from sims.so101_arm.harm_monitor import So101Monitor
from sims.so101_arm.kinematics import Kinematics
from sims.so101_arm.motion import So101Motion, So101Program
from sims.so101_arm.paths import joint_path, round_axis, straight
from sims.so101_arm.physics import CLOSED, So101Physics

OPENING_SPEED, CLOSING_SPEED, SOFT_SPEED = 2.0, 0.2, 0.02
"""Of the gripper's joint, rad/s: a rotor that meets an object at speed presses it harder than its torque."""
STALLED, MOST_WAITS = 0.01, 20
"""Speed, rad/s, below which the gripper has closed, and for how many pauses that is waited for."""
PAUSE = 0.2
"""Pause of a grip or a release after its motion, s."""
PICK_SHARE, SOFT_SHARE = 0.7, 0.95
"""Largest share of an object's force limit that `pick` grips with, and that a grip made soft has."""
HOVER = 0.015
"""Height above an object, m, from which the gripper comes straight down on it."""
CLEARANCE = 0.005
"""Gap between an object and either jaw before it is gripped, m."""
FEEL, FEEL_SPEED = 0.012, 0.03
"""Last part of a descent, m, in which an object feels for its support, and its speed, m/s."""
HOLDING_ANGLE = 0.03
"""A closed gripper that stands this much farther open than closed, rad, reports that it holds something."""
LEAST_PITCH, PITCH_STEP = 0.8, 0.02
"""A gripper that cannot point straight down points as far down as it can, but not less than this, rad."""
TURNS = 6
"""Steps of the fixed point between the roll of the wrist and the direction of the arm."""
QUARTER = math.pi / 2


class So101Handling(ArmHandling[So101World]):
    """Motions of the arm from start to rest."""

    stopped = (
        "A servo gave more than {arm.servos.overload_nm:.3g} N m for too long, and gave way. "
        "The safety is locked now: unlock_safety switches the servos on again; then move away."
    )
    _physics: So101Physics
    _monitor: So101Monitor
    _motion: So101Motion

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._gripped = DOWN, 0.0
        """Pitch at which an object was last gripped, and its yaw less the direction of the jaws then, rad."""

    @property
    def holding(self) -> bool:
        """Whether the closed gripper reports that something keeps its jaws apart."""
        return self.gripper == "closed" and float(self._physics.angles()[-1]) > CLOSED + HOLDING_ANGLE

    def _help(self, target: str | None, *, closing: bool) -> None:
        grips = closing or target is not None
        motion, aid = self._motion, self.next_aid
        self._aid, self.next_aid, motion.lowers = aid, NO_AID, aid.release is not None
        if aid.passes_through or (aid.soft_grip and not grips) or motion.mask.active:
            motion.mask.apply(target or self._monitor.held)
        motion.guarded = not aid.passes_through
        self._monitor.passes_through = aid.passes_through
        self._physics.limit_torques(self.world.arm.servos.overload_nm if aid.limits_torque else None)

    # Whole motions.

    def move(self, goal: Array) -> None:
        """Move in a straight line."""
        self._follow(goal)
        self.time.settle()

    def go_over(self, goal: Array) -> None:
        """Move up to travel height, round the arm's axis, and down."""
        above = self._raised(goal)
        self._lift_and_turn(above)
        self._follow(goal)
        self.time.settle()

    def open(self) -> None:
        """Release what is held, and open the gripper."""
        self._open_to(self.world.arm.opening)
        self.time.settle()

    def close(self) -> None:
        """Close with the standard torque on whatever is between the jaws."""
        self._close(self.world.arm.grip_torque)
        self.time.settle()

    def pick(self, name: str) -> None:
        """Descend, grip with a force that the object bears, and move up."""
        thing = self.world.objects[name]
        down, beside = self.to_pick(name)
        self._open_to(self._fitting(thing))
        hover = self._over(down, thing)
        above = self._raised(hover, beside)
        self._lift_and_turn(above, beside)
        self._follow(hover, beside)
        self._follow(down, beside)
        lever = self._physics.kinematics.lever
        self._close(min(self.world.arm.grip_torque, PICK_SHARE * thing.force_limit * lever))
        self._follow(hover, beside)
        self._follow(above, beside)
        self.time.settle()

    def place(self, goal: Array) -> None:
        """Move above the goal and down until the load stands or is there, release it, and move up."""
        held = self._monitor.held
        thing = None if held is None else self.world.objects[held]
        down, beside = self.to_place(goal)
        hover = self._over(down, thing)
        above = self._raised(hover, beside)
        self._lift_and_turn(above, beside)
        self._follow(hover, beside)
        self._follow(_higher(down, FEEL), beside)
        self._follow(down, beside, speed=FEEL_SPEED, feeling=True)
        self._open_to(self.world.arm.opening if thing is None else self._fitting(thing))
        self._follow(hover, beside)
        self._follow(above, beside)
        self.time.settle()

    # Where the fingertips go.

    def to_pick(self, name: str) -> tuple[Array, Array]:
        """Return the pose that grips an object, and the object's place beside the fingertips.

        Raises:
            UnreachableError: the arm does not reach it from above.
        """
        thing = self.world.objects[name]
        x, y, z, yaw = self._physics.objects.pose(name)
        beside = np.array([thing.width / 2 + CLEARANCE - self.world.arm.tip, 0.0, 0.0])
        return self._turned((x, y, z), _pitches(DOWN), yaw + QUARTER, thing, beside), beside

    def to_place(self, goal: Array) -> tuple[Array, Array]:
        """Return the pose that puts the held object at x, y, z and yaw, and its place beside the fingertips.

        Raises:
            UnreachableError: the arm does not reach it with the object upright.
        """
        held = self._monitor.held
        beside = np.zeros(3) if held is None else self._physics.beside_tip(held)
        thing = None if held is None else self.world.objects[held]
        x, y, z, yaw = goal.tolist()
        pitch, turn = self._gripped
        return self._turned((x, y, z), (pitch,), yaw - turn, thing, beside), beside

    def _turned(
        self,
        point: tuple[float, float, float],
        pitches: Iterable[float],
        across: float,
        thing: BenchObject | None,
        beside: Array,
    ) -> Array:
        """Return the first pitch's pose whose jaws close in a direction, rad, as a thing's shape allows.

        The gripper has to reach the place above it, too. Of several rolls it is the one that keeps the jaws
        most upright, and then the least.
        """
        period = QUARTER if thing is None or thing.size[0] == thing.size[1] else math.pi
        kinematics = self._physics.kinematics
        for pitch in pitches:
            found: list[Array] = []
            for k in range(round(2 * math.pi / period)):
                pose = np.array([*point, pitch, 0.0])
                try:
                    for _ in range(TURNS):
                        off = across + k * period - kinematics.across(pose, beside)
                        pose[4] = wrapped(float(pose[4]) + off)
                    kinematics.joint_angles(np.array([pose, self._over(pose, thing)]), beside)
                except UnreachableError:
                    continue
                found.append(pose)
            if found:
                return min(found, key=_slant)
        raise UnreachableError("not from above")

    def _over(self, pose: Array, thing: BenchObject | None) -> Array:
        """Return the pose from which the gripper comes straight down to another, round what it grips."""
        return _higher(pose, HOVER if thing is None else thing.size[2] - GRIP_HEIGHT + HOVER)

    def _raised(self, pose: Array, beside: Array | None = None) -> Array:
        """Return a pose at travel height above another, its gripper as far down as it can there."""
        raised = pose.copy()
        for height in (max(self.world.arm.travel_height, pose[2]), pose[2]):
            raised[2] = height
            for pitch in _pitches(min(float(pose[3]), DOWN)):
                raised[3] = pitch
                if self._physics.kinematics.reaches(raised, beside):
                    return raised
        return pose

    def _fitting(self, thing: BenchObject) -> float:
        kinematics: Kinematics = self._physics.kinematics
        return min(kinematics.opening(thing.width + 3 * CLEARANCE), self.world.arm.opening)

    # Parts of motions.

    def _lift_and_turn(self, above: Array, beside: Array | None = None) -> None:
        physics = self._physics
        self._follow(self._raised(physics.target))
        goal = self._at_tip(above, beside)
        path = round_axis(physics.kinematics, physics.target, goal, self.world.arm, scene_parts.TIMESTEP)
        self._along(path, goal)

    def _at_tip(self, pose: Array, beside: Array | None) -> Array:
        """Return the fingertips' pose that brings the point beside them to a pose."""
        if beside is None:
            return pose
        joints = self._physics.kinematics.joint_angles(pose[None], beside)[0]
        return self._physics.kinematics.pose(joints)

    def _follow(
        self, goal: Array, beside: Array | None = None, *, speed: float | None = None, feeling: bool = False
    ) -> None:
        """Move straight to a pose of the fingertips, or of the point beside them."""
        goal, spec = self._at_tip(goal, beside), self.world.arm
        if speed is not None:
            spec = spec.model_copy(update={"speed": speed})
        self._along(straight(self._physics.target, goal, spec, scene_parts.TIMESTEP), goal, feeling=feeling)

    def _along(self, path: Array, goal: Array, *, feeling: bool = False) -> None:
        physics = self._physics
        end = physics.kinematics.joint_angles(goal[None])[0]
        speed = self.world.arm.joint_speed
        joints = joint_path(physics.kinematics, path, physics.joints, end, speed, scene_parts.TIMESTEP)
        self.time.run(So101Program(joints, np.full(len(joints), physics.gripper_target)), feeling=feeling)

    def _open_to(self, angle: float) -> None:
        self.gripper = "open"
        self._physics.limit_grip(None)
        self._turn_gripper(angle, OPENING_SPEED)

    def _close(self, torque: float) -> None:
        self.gripper = "closed"
        if self._aid.soft_grip:
            borne = min((thing.force_limit for thing in self._near()), default=math.inf)
            lever = self._physics.kinematics.lever
            torque = min(torque, SOFT_SHARE * borne * lever / self.world.hidden.grip_force)
        self._physics.limit_grip(torque)
        self._turn_gripper(CLOSED, SOFT_SPEED if self._aid.soft_grip else CLOSING_SPEED)
        held = self._monitor.held
        if held is not None:
            pose = self._physics.kinematics.pose(self._physics.angles()[:-1])
            across = self._physics.kinematics.across(pose)
            self._gripped = float(pose[3]), self._physics.objects.pose(held)[3] - across

    def _near(self) -> Iterator[BenchObject]:
        """Return the objects that the jaws may close on."""
        tip = np.array(self._physics.tip()[:3])
        for name, thing in self.world.objects.items():
            if float(np.linalg.norm(self._physics.objects.position(name) - tip)) < max(thing.size):
                yield thing

    def _turn_gripper(self, angle: float, speed: float) -> None:
        # From where it stands: what it holds keeps its target out of reach.
        start = float(self._physics.angles()[-1])
        moving = np.linspace(start, angle, max(2, steps(abs(angle - start) / speed)))
        angles = np.concatenate([moving, np.full(steps(PAUSE), angle)])
        self.time.run(So101Program(np.repeat(self._physics.joints[None], len(angles), axis=0), angles))
        for _ in range(MOST_WAITS):
            if abs(self._physics.gripper_speed) < STALLED:
                break
            self.time.take(PAUSE)


def _pitches(steepest: float) -> Iterator[float]:
    """Yield pitches from the steepest to the least."""
    count = max(0, math.floor((steepest - LEAST_PITCH) / PITCH_STEP))
    return (steepest - k * PITCH_STEP for k in range(count + 1))


def _higher(pose: Array, rise: float) -> Array:
    return np.asarray(pose + np.array([0.0, 0.0, rise, 0.0, 0.0]))


def _slant(pose: Array) -> tuple[float, float]:
    """Return how far from upright the jaws' faces are, coarsely, and the roll."""
    roll = abs(float(pose[4]))
    return round(abs(math.cos(roll) * math.cos(float(pose[3]))), 1), roll
