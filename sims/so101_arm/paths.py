"""Paths of the fingertips in time: straight lines, and ways round the pan axis, at trapezoidal speed."""

from __future__ import annotations

import numpy as np

from devices.so101_arm.world import So101Spec
from sims.arm.geometry import Array, UnreachableError
from sims.arm.motion import MotionLimits, progress, slowed
from sims.so101_arm.kinematics import Kinematics

TURN_SPEED = 1.5
"""Of pitch and roll, rad/s."""


def straight(start: Array, end: Array, spec: So101Spec, dt: float) -> Array:
    """Return poses (n, 5) on a line from start (excluded) to end (included), each one step `dt` later."""
    return start + _shares(float(np.linalg.norm(end[:3] - start[:3])), start, end, spec, dt) * (end - start)


def round_axis(kinematics: Kinematics, start: Array, end: Array, spec: So101Spec, dt: float) -> Array:
    """Return poses (n, 5) at even steps of direction, distance and height seen from the pan axis."""
    axis = kinematics.pan
    (one, near), (other, far) = _polar(start[:2] - axis), _polar(end[:2] - axis)
    length = float(np.hypot(abs(other - one) * max(near, far), np.hypot(far - near, end[2] - start[2])))
    share = _shares(length, start, end, spec, dt)
    poses = start + share * (end - start)
    angle, radius = one + share[:, 0] * (other - one), near + share[:, 0] * (far - near)
    poses[:, 0], poses[:, 1] = axis[0] + radius * np.cos(angle), axis[1] + radius * np.sin(angle)
    return np.asarray(poses)


def joint_path(
    kinematics: Kinematics, path: Array, joints: Array, goal: Array, speed: float, dt: float
) -> Array:
    """Return the joint angles (n, 5) along a path, slower where a joint would exceed its speed, rad/s.

    Where the path leaves the arm's reach between its ends, the joints go to `goal` (5,) at even speeds.
    """
    try:
        found = kinematics.joint_angles(path) if len(path) else np.empty((0, joints.size))
    except UnreachableError:
        share = np.linspace(0.0, 1.0, max(len(path), 1) + 1)[1:, None]
        found = joints + (3 * share**2 - 2 * share**3) * (goal - joints)
    if len(found) == 0:
        return found
    needed = (np.abs(np.diff(found, axis=0, prepend=joints[None])) / (speed * dt)).max(axis=1)
    return slowed(np.concatenate([joints[None], found]), needed)


def _polar(away: Array) -> tuple[float, float]:
    return float(np.arctan2(away[1], away[0])), float(np.hypot(*away))


def _shares(length: float, start: Array, end: Array, spec: So101Spec, dt: float) -> Array:
    turn = float(np.abs(end[3:] - start[3:]).max())
    limits = MotionLimits(spec.speed, spec.acceleration, TURN_SPEED)
    return progress(length, turn, limits, dt)[:, None]
