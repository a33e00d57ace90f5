"""Detours round keep-out zones, for counterfactuals: the same path except for the part in a zone."""

from __future__ import annotations

from collections.abc import Iterator

import mujoco
import numpy as np

from sims.arm.geometry import Array, wrapped
from sims.arm.motion import MotionLimits
from sims.robotic_arm import quantities
from sims.robotic_arm.kinematics import joint_angles, reachable
from sims.robotic_arm.physics import AXES, BenchPhysics
from sims.robotic_arm.trajectory import paced, route

STRIDE = 5
"""Every pose of this many is checked against the zone."""
MARGIN = 0.02
"""Distance kept from a zone, m; more than the arm moves between two checks."""
LOW, HIGH = 0.25, 0.7
"""Heights of the fingertips that are tried for the detour, m."""
TURNS = 12
"""Number of parts of a turn about the base."""


def outside(poses: Array, physics: BenchPhysics, zone: str, limits: MotionLimits, dt: float) -> Array:
    """Return the path with its part in a zone replaced by a detour of as many steps.

    Where no detour exists, or the end itself is in the zone, the arm waits before the zone instead.
    """
    if len(poses) == 0:
        return poses
    looks = [*range(0, len(poses) - 1, STRIDE), len(poses) - 1]
    near = [k for k in looks if _in_zone(physics, poses[k], zone)]
    if not near:
        return poses
    before = max(near[0] - STRIDE, -1)
    start = physics.target if before < 0 else poses[before]
    after = min(near[-1] + STRIDE, len(poses) - 1)
    head = poses[: before + 1]
    if after not in near:
        for points in _detours(start, poses[after]):
            path = route(points, limits, dt)
            if reachable(path).all() and not any(_in_zone(physics, pose, zone) for pose in path[::STRIDE]):
                return paced(np.concatenate([head, path, poses[after + 1 :]]), physics.target, len(poses))
    return np.concatenate([head, np.repeat(start[None], len(poses) - len(head), axis=0)])


def _detours(start: Array, end: Array) -> Iterator[list[Array]]:
    """Yield paths between poses: over the zone, and round the base both ways, near or far, low or high."""
    for height in (max(LOW, start[2], end[2]), HIGH):
        yield [start, _at(start, z=height), _at(end, z=height), end]
    first, turn = (
        np.arctan2(start[1], start[0]),
        wrapped(float(np.arctan2(*end[1::-1]) - np.arctan2(*start[1::-1]))),
    )
    ends = float(np.hypot(*start[:2])), float(np.hypot(*end[:2]))
    for swing in (turn, turn - np.copysign(2 * np.pi, turn)):
        for height in (max(start[2], end[2]), LOW, HIGH):
            for radius in (max(ends), 0.45, 0.25):
                parts = np.linspace(0.0, 1.0, TURNS + 1)[:, None]
                yaw = start[3] + parts * wrapped(float(end[3] - start[3]))
                angle = first + parts * swing
                around = np.hstack(
                    [radius * np.cos(angle), radius * np.sin(angle), np.full_like(yaw, height), yaw]
                )
                yield [start, _at(start, z=height), *around, _at(end, z=height), end]


def _at(pose: Array, z: float) -> Array:
    return np.array([pose[0], pose[1], z, pose[3]])


def _in_zone(physics: BenchPhysics, pose: Array, zone: str) -> bool:
    """Return whether the arm, or what it holds, comes nearer than MARGIN to a zone at a pose."""
    engine = physics.spare()
    data, bench = engine.data, physics.bench
    parts = list(quantities.ARM_PARTS)
    data.qpos[:AXES] = joint_angles(pose[None], physics.joints)[0]
    if physics.held is not None:
        parts.append(physics.held)
        data.qpos[bench.qpos[physics.held] :][:7] = physics.held_at(pose)
    mujoco.mj_kinematics(engine.model, data)
    one = bench.geom[zone]
    return any(
        mujoco.mj_geomDistance(engine.model, data, bench.geom[part], one, 2 * MARGIN, None) < MARGIN
        for part in parts
    )
