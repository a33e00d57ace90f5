"""Moves in time: a trapezoidal speed, sampled at every physics step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from devices.arm import tolerances
from sims.arm.geometry import Array


@dataclass(frozen=True, slots=True)
class MotionLimits:
    """Limits along a move: m/s, m/s^2, rad/s; turning accelerates in proportion."""

    speed: float
    acceleration: float
    yaw_speed: float


def progress(length: float, turn: float, limits: MotionLimits, dt: float) -> Array:
    """Return the shares of the path, in (0, 1], of a trapezoidal speed profile at multiples of dt."""
    if length < tolerances.PATH and turn < tolerances.PATH:
        return np.empty(0)
    speed = min(limits.speed / max(length, tolerances.PATH), limits.yaw_speed / max(turn, tolerances.PATH))
    rise = limits.speed / limits.acceleration
    gain = speed / rise
    if speed * rise > 1.0:  # too short for full speed
        speed = float(np.sqrt(gain))
        rise = 1.0 / speed
    total = 1.0 / speed + rise
    t = np.minimum(np.arange(1, int(np.ceil(total / dt - tolerances.PATH)) + 1) * dt, total)
    accelerating = 0.5 * speed / rise * np.minimum(t, rise) ** 2
    cruising = speed * np.clip(t - rise, 0.0, total - 2 * rise)
    late = np.clip(t - (total - rise), 0.0, rise)
    braking = speed * late - 0.5 * speed / rise * late**2
    return np.asarray(np.minimum(accelerating + cruising + braking, 1.0))
