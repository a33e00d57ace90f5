"""Distances between points, straight segments, discs and upright boxes in the plane; metres."""

from __future__ import annotations

import math
from dataclasses import dataclass

Point = tuple[float, float]
Extent = tuple[float, float, float, float, float]
"""Least and greatest x and y of a box, and the radius by which its shape is greater."""


@dataclass(frozen=True, slots=True)
class Disc:
    """A round obstacle."""

    name: str
    x: float
    y: float
    radius: float

    def distance(self, point: Point) -> float:
        """Return the distance from its edge to a point, negative inside."""
        return math.hypot(point[0] - self.x, point[1] - self.y) - self.radius

    @property
    def extent(self) -> Extent:
        """Its centre and radius."""
        return self.x, self.x, self.y, self.y, self.radius

    def segment_distance(self, a: Point, b: Point) -> float:
        """Return the distance from its edge to the segment ab, negative where that enters it."""
        return point_to_segment((self.x, self.y), a, b) - self.radius

    def corners(self, clearance: float, sides: int = 8) -> list[Point]:
        """Return the corners of a polygon round it whose sides keep the clearance."""
        out = (self.radius + clearance) / math.cos(math.pi / sides)
        turns = [2.0 * math.pi * (i + 0.5) / sides for i in range(sides)]
        return [(self.x + out * math.cos(turn), self.y + out * math.sin(turn)) for turn in turns]

    def nearest_clear(self, point: Point, clearance: float) -> list[Point]:
        """Return the nearest places to the point with that clearance from its edge."""
        dx, dy = point[0] - self.x, point[1] - self.y
        apart = math.hypot(dx, dy)
        if apart == 0.0:
            dx, apart = 1.0, 1.0
        scale = (self.radius + clearance) / apart
        return [(self.x + dx * scale, self.y + dy * scale)]


@dataclass(frozen=True, slots=True)
class Box:
    """An upright box."""

    name: str
    x_min: float
    x_max: float
    y_min: float
    y_max: float

    def distance(self, point: Point) -> float:
        """Return the distance from its edge to a point, negative inside."""
        # Without max(), which costs more than all the rest.
        x, y = point
        dx, right = self.x_min - x, x - self.x_max
        dy, above = self.y_min - y, y - self.y_max
        if right > dx:
            dx = right
        if above > dy:
            dy = above
        if dx <= 0.0 and dy <= 0.0:
            return dy if dy > dx else dx
        return math.hypot(dx if dx > 0.0 else 0.0, dy if dy > 0.0 else 0.0)

    @property
    def extent(self) -> Extent:
        """Its sides."""
        return self.x_min, self.x_max, self.y_min, self.y_max, 0.0

    def segment_distance(self, a: Point, b: Point) -> float:
        """Return the distance from its edge to the segment ab, 0 where that enters it."""
        if self._enters(a, b):
            return 0.0
        outer = min(point_to_segment(corner, a, b) for corner in self.corners(0.0))
        return min(outer, self.distance(a), self.distance(b))

    def corners(self, clearance: float) -> list[Point]:
        """Return the corners of the box round it that keeps the clearance."""
        xs = (self.x_min - clearance, self.x_max + clearance)
        ys = (self.y_min - clearance, self.y_max + clearance)
        return [(x, y) for x in xs for y in ys]

    def nearest_clear(self, point: Point, clearance: float) -> list[Point]:
        """Return, for each side, the nearest place to the point with that clearance."""
        x, y = point
        return [
            (self.x_min - clearance, y),
            (self.x_max + clearance, y),
            (x, self.y_min - clearance),
            (x, self.y_max + clearance),
        ]

    def _enters(self, a: Point, b: Point) -> bool:
        """Return whether the segment meets the box (Liang and Barsky's clipping)."""
        low, high = 0.0, 1.0
        spans = ((a[0], b[0], self.x_min, self.x_max), (a[1], b[1], self.y_min, self.y_max))
        for start, end, least, most in spans:
            step = end - start
            if step == 0.0:
                if not least <= start <= most:
                    return False
                continue
            enter, leave = sorted(((least - start) / step, (most - start) / step))
            low, high = max(low, enter), min(high, leave)
        return low <= high


Shape = Disc | Box


def apart(shape: Shape, a: Point, b: Point, gap: float) -> bool:
    """Return whether the segment ab is this far from a shape along an axis, which takes less time."""
    x_min, x_max, y_min, y_max, radius = shape.extent
    (ax, ay), (bx, by) = a, b
    return (
        (ax if ax < bx else bx) - x_max - radius >= gap
        or x_min - (bx if ax < bx else ax) - radius >= gap
        or (ay if ay < by else by) - y_max - radius >= gap
        or y_min - (by if ay < by else ay) - radius >= gap
    )


def point_to_segment(point: Point, a: Point, b: Point) -> float:
    """Return the distance from a point to the segment ab."""
    dx, dy = b[0] - a[0], b[1] - a[1]
    square = dx * dx + dy * dy
    along = 0.0
    if square > 0.0:
        along = ((point[0] - a[0]) * dx + (point[1] - a[1]) * dy) / square
        along = 0.0 if along < 0.0 else 1.0 if along > 1.0 else along
    return math.hypot(point[0] - a[0] - along * dx, point[1] - a[1] - along * dy)
