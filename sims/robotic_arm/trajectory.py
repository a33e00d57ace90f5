"""Straight-line moves of the fingertips in time: trapezoidal speed, sampled at every physics step."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from devices.arm import tolerances
from sims.arm.geometry import Array, wrapped
from sims.arm.motion import MotionLimits, progress, slowed
from sims.robotic_arm.kinematics import joint_angles

SLOWINGS, JUST_WITHIN = 4, 1.001
"""A path is slowed at most so often, until no joint exceeds its limit by more than this factor."""

YAW_ARM = 0.2
"""Length equivalent to a turn of the gripper by 1 rad, m."""


def straight(start: Array, end: Array, limits: MotionLimits, dt: float, *, keep_out: float = 0.0) -> Array:
    """Return poses (n, 4) from start (excluded) to end (included), each one step `dt` later.

    The yaw takes the shorter turn. Where the line would pass the base's axis nearer than `keep_out`
    (the arm would meet its own column), the path bends round it at the distances of its ends; height and yaw
    stay linear.
    """
    turn = wrapped(float(end[3] - start[3]))
    bends = _passes_axis(start, end, keep_out)
    swing = wrapped(float(np.arctan2(end[1], end[0]) - np.arctan2(start[1], start[0]))) if bends else 0.0
    flat = abs(swing) * max(np.hypot(*start[:2]), np.hypot(*end[:2])) if bends else 0.0
    length = float(np.hypot(flat, np.linalg.norm(end[:3] - start[:3])))
    share = progress(length, abs(turn), limits, dt)
    if share.size == 0:
        return np.empty((0, 4))
    poses = start + share[:, None] * (end - start)
    poses[:, 3] = start[3] + share * turn
    if bends:
        radius = np.hypot(*start[:2]) + share * (np.hypot(*end[:2]) - np.hypot(*start[:2]))
        angle = np.arctan2(start[1], start[0]) + share * swing
        poses[:, 0], poses[:, 1] = radius * np.cos(angle), radius * np.sin(angle)
    poses[-1, :3] = end[:3]
    return np.asarray(poses)


def route(points: Sequence[Array], limits: MotionLimits, dt: float, *, keep_out: float = 0.0) -> Array:
    """Return poses along straight lines from point to point, with a halt at each."""
    legs = [straight(a, b, limits, dt, keep_out=keep_out) for a, b in pairwise(points)]
    return np.concatenate(legs) if legs else np.empty((0, 4))


def retimed(poses: Array, start: Array, steps: int) -> Array:
    """Return the same path in exactly `steps` steps (at least one), at speeds scaled alike."""
    if len(poses) == 0:
        return np.repeat(start[None], steps, axis=0)
    path = np.concatenate([start[None], poses])
    yaw = np.unwrap(path[:, 3])
    at = np.linspace(0.0, len(path) - 1, max(steps, 1) + 1)[1:]
    index = np.arange(len(path))
    return np.stack([np.interp(at, index, path[:, k] if k < 3 else yaw) for k in range(4)], axis=1)


def paced(poses: Array, start: Array, steps: int) -> Array:
    """Return the same path in `steps` steps, from rest to rest without a halt: a quintic over its length."""
    path = np.concatenate([start[None], poses])
    path[:, 3] = np.unwrap(path[:, 3])
    hops = np.abs(np.diff(path, axis=0))
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(hops[:, :3], axis=1) + YAW_ARM * hops[:, 3])])
    share = np.arange(1, steps + 1) / steps
    at = along[-1] * share**3 * (10 - 15 * share + 6 * share**2)
    return np.stack([np.interp(at, along, path[:, k]) for k in range(4)], axis=1)


def within_joint_speeds(poses: Array, joints: Array, start: Array, limits: Array, dt: float) -> Array:
    """Return the same path, slower where a joint would exceed its speed limit.

    Args:
        poses: the path (n, 4), one step `dt` apart.
        joints: the six joint angles before its first step, rad.
        start: the pose there (4,).
        limits: of the joints (6,), rad/s.
    """
    for _ in range(SLOWINGS):
        if len(poses) == 0:
            return poses
        turns = np.abs(np.diff(joint_angles(poses, joints), axis=0, prepend=joints[None]))
        needed = (turns / (limits * dt)).max(axis=1)
        if needed.max() <= JUST_WITHIN:
            return poses
        path = np.concatenate([start[None], poses])
        path[:, 3] = np.unwrap(path[:, 3])
        poses = slowed(path, needed)
    return poses


def _passes_axis(start: Array, end: Array, keep_out: float) -> bool:
    """Return whether the line, seen from above, comes nearer to the base's axis than `keep_out`."""
    along = end[:2] - start[:2]
    square = float(along @ along)
    nearest = 0.0 if square == 0.0 else float(np.clip(-(start[:2] @ along) / square, 0.0, 1.0))
    return bool(np.hypot(*(start[:2] + nearest * along)) < keep_out - tolerances.PATH)
