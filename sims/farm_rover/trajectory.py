"""The rover's motion along a route: turn in place towards each corner, drive straight, turn at the end.

Each turn and each leg has a trapezoidal speed profile (a triangle where the path is short), as of a
differential drive with limits of speed and acceleration.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from devices.farm_rover import tolerances
from devices.farm_rover.world import Pose, Rover
from sims.farm_rover.geometry import Point


def wrapped(angle: float) -> float:
    """Return the same angle in (-pi, pi]."""
    turned = math.remainder(angle, 2.0 * math.pi)
    return math.pi if turned == -math.pi else turned


@dataclass(frozen=True, slots=True)
class Profile:
    """Motion from rest to rest over a length.

    Attributes:
        length: in m or rad, the acceleration in that unit per s2.
        ramp: time of speeding up, and of slowing down, s.
        duration: total time, s.
    """

    length: float
    acceleration: float
    ramp: float
    duration: float

    @classmethod
    def over(cls, length: float, speed: float, acceleration: float) -> Profile:
        """Return the fastest profile within limits of speed and acceleration."""
        ramp = min(speed / acceleration, math.sqrt(length / acceleration))
        top = ramp * acceleration
        return cls(length, acceleration, ramp, 2.0 * ramp + (length - top * ramp) / top)

    def done(self, t: float) -> float:
        """Return the length covered by time t."""
        ramp, duration = self.ramp, self.duration
        if t <= 0.0:
            return 0.0
        if t >= duration:
            return self.length
        if t < ramp:
            return self.acceleration * t * t / 2.0
        if t > duration - ramp:
            rest = duration - t
            return self.length - self.acceleration * rest * rest / 2.0
        return self.acceleration * ramp * (t - ramp / 2.0)


@dataclass(frozen=True, slots=True)
class Leg:
    """A turn in place (`turn` rad) or a straight drive from a point at a heading."""

    x: float
    y: float
    yaw: float
    turn: float
    profile: Profile

    def place(self, t: float) -> tuple[float, float, float]:
        """Return x, y and heading at time t after the leg's start."""
        done = self.profile.done(t)
        if self.turn:
            return self.x, self.y, wrapped(self.yaw + math.copysign(done, self.turn))
        return self.x + done * math.cos(self.yaw), self.y + done * math.sin(self.yaw), self.yaw


class Drive:
    """A drive along a route, with its pose and its use of charge at every time.

    Args:
        start: the pose at time 0.
        route: corners, the first at the start and the last at the goal.
        yaw: the heading at the end, rad.
        rover: limits and charges.
        duration: the set time, s; None for the natural one over `pace`.
    """

    def __init__(
        self,
        start: Pose,
        route: Sequence[Point],
        yaw: float,
        rover: Rover,
        duration: float | None = None,
        pace: float = 1.0,
    ) -> None:
        self._legs: list[Leg] = []
        self._rover = rover
        heading = start.yaw
        for (x, y), (to_x, to_y) in pairwise(route):
            length = math.hypot(to_x - x, to_y - y)
            if length > tolerances.MOTION:
                ahead = math.atan2(to_y - y, to_x - x)
                self._turn(x, y, heading, ahead)
                self._legs.append(
                    Leg(x, y, ahead, 0.0, Profile.over(length, rover.speed, rover.acceleration))
                )
                heading = ahead
        self.end = Pose(x=route[-1][0], y=route[-1][1], yaw=wrapped(yaw))
        self._turn(self.end.x, self.end.y, heading, yaw)
        natural = sum(leg.profile.duration for leg in self._legs)
        self.duration = natural / pace if duration is None or natural == 0.0 else duration
        self.pace = natural / self.duration if self.duration else 1.0
        """Its speed over the natural one."""

    def _turn(self, x: float, y: float, heading: float, ahead: float) -> None:
        turn = wrapped(ahead - heading)
        if abs(turn) > tolerances.MOTION:
            profile = Profile.over(abs(turn), self._rover.turn_rate, self._rover.turn_acceleration)
            self._legs.append(Leg(x, y, heading, turn, profile))

    @property
    def points(self) -> list[Point]:
        """The corners of the drive, in order."""
        return [(leg.x, leg.y) for leg in self._legs] + [(self.end.x, self.end.y)]

    @property
    def charge(self) -> float:
        """The share of the battery that it takes."""
        return self.progress(self.duration)[1]

    def place(self, t: float) -> tuple[float, float, float]:
        """Return x, y and heading at time t after the start."""
        left = t * self.pace
        for leg in self._legs:
            if left < leg.profile.duration:
                return leg.place(left)
            left -= leg.profile.duration
        return self.end.x, self.end.y, self.end.yaw

    def progress(self, t: float) -> tuple[float, float]:
        """Return the wheels' straight travel by time t, m, and the share of the battery used by then."""
        left, travelled, used, over = t * self.pace, 0.0, 0.0, t >= self.duration
        for leg in self._legs:
            done = leg.profile.done(left) if left > 0.0 else 0.0
            if leg.turn:
                per_unit = self._rover.turn_charge_per_rad
            else:
                per_unit = self._rover.drive_charge_per_m
                travelled += done
            used += (leg.profile.length if over else done) * per_unit
            left -= leg.profile.duration
        return travelled, used
