"""Kinematics of the arm: six axes with a spherical wrist, the gripper always pointing straight down.

Axes: 1 base turn, 2 shoulder, 3 elbow, 4 forearm roll, 5 wrist pitch, 6 tool roll. With the tool pointing
down and the elbow up, the inverse has a closed form: two links in a vertical plane, by the cosine rule. So
there is no iteration and no drift, and a whole trajectory is solved at once. Axes 1 and 6 are endless.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sims.arm.geometry import Array, UnreachableError

SHOULDER_HEIGHT = 0.4
UPPER_ARM = 0.62
FOREARM = 0.62
TOOL_LENGTH = 0.21
"""Distance from wrist centre to fingertips, m."""
STRETCH = 0.995
"""Usable share of the stretched arm's length, away from the singularity of a straight elbow."""


def reachable(poses: Array) -> NDArray[np.bool_]:
    """Return whether the arm reaches poses (n, 4) of x, y, z, yaw."""
    radius = np.hypot(poses[:, 0], poses[:, 1])
    span = np.hypot(radius, poses[:, 2] + TOOL_LENGTH - SHOULDER_HEIGHT)
    return np.asarray(span <= STRETCH * (UPPER_ARM + FOREARM))


def joint_angles(poses: Array, near: Array) -> Array:
    """Return joint angles (n, 6) for fingertip poses (n, 4); endless axes continue from `near` (6,).

    Raises:
        UnreachableError: a pose is too far.
    """
    if not reachable(poses).all():
        raise UnreachableError("a pose on the path is beyond the reach of the arm")
    x, y, z, yaw = poses.T
    radius, rise = np.hypot(x, y), z + TOOL_LENGTH - SHOULDER_HEIGHT
    span = np.hypot(radius, rise)
    at_shoulder = np.arccos((UPPER_ARM**2 + span**2 - FOREARM**2) / (2 * UPPER_ARM * span))
    upper = np.arctan2(rise, radius) + at_shoulder
    fore = np.arctan2(rise - UPPER_ARM * np.sin(upper), radius - UPPER_ARM * np.cos(upper))
    base = _continued(np.arctan2(y, x), near[0])
    roll = _continued(base - yaw, near[5])
    zero = np.zeros_like(base)
    return np.stack([base, -upper, upper - fore, zero, np.pi / 2 + fore, roll], axis=1)


def _continued(angles: Array, start: float) -> Array:
    """Return the same angles without jumps of a turn, the first one nearest to `start`."""
    smooth = np.unwrap(angles)
    return np.asarray(smooth + 2 * np.pi * np.round((start - smooth[0]) / (2 * np.pi)))
