"""Overlaps of things on a bench, by their footprints and heights."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from devices.arm import tolerances


@dataclass(frozen=True, slots=True)
class Footprint:
    """A rectangle, or a circle where `round` is set, from `low` to `high`."""

    name: str
    x: float
    y: float
    yaw: float
    half_length: float
    half_width: float
    low: float
    high: float
    round: bool = False
    fixed: bool = False

    def extent(self, ux: float, uy: float) -> float:
        """Return half its length along a unit vector."""
        if self.round:
            return self.half_length
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        return self.half_length * abs(ux * c + uy * s) + self.half_width * abs(-ux * s + uy * c)

    def normals(self, other: Footprint) -> Iterator[tuple[float, float]]:
        """Yield the directions in which a gap between it and the other may show."""
        if not self.round:
            yield math.cos(self.yaw), math.sin(self.yaw)
            yield -math.sin(self.yaw), math.cos(self.yaw)
            return
        nearest = other.nearest(self.x, self.y)
        dx, dy = self.x - nearest[0], self.y - nearest[1]
        length = math.hypot(dx, dy)
        if length > 0.0:
            yield dx / length, dy / length

    def nearest(self, x: float, y: float) -> tuple[float, float]:
        """Return its point nearest to a point; the centre for a circle."""
        if self.round:
            return self.x, self.y
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        along = min(max((x - self.x) * c + (y - self.y) * s, -self.half_length), self.half_length)
        across = min(max(-(x - self.x) * s + (y - self.y) * c, -self.half_width), self.half_width)
        return self.x + along * c - across * s, self.y + along * s + across * c


def overlap(a: Footprint, b: Footprint) -> bool:
    """Return whether two things overlap: by the separating axis theorem, and by their heights."""
    if a.low >= b.high - tolerances.OVERLAP or b.low >= a.high - tolerances.OVERLAP:
        return False
    dx, dy = b.x - a.x, b.y - a.y
    return all(
        abs(dx * ux + dy * uy) < a.extent(ux, uy) + b.extent(ux, uy) - tolerances.OVERLAP
        for ux, uy in (*a.normals(b), *b.normals(a))
    )


def first_overlap(things: Sequence[Footprint]) -> tuple[str, str] | None:
    """Return the first pair of overlapping things; things of one name are parts of one."""
    for k, one in enumerate(things):
        for other in things[k + 1 :]:
            if one.name != other.name and overlap(one, other):
                return (other.name, one.name) if one.fixed else (one.name, other.name)
    return None
