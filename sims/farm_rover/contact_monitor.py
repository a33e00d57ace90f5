"""Contacts of the rover's footprint with beds, strips and obstacles: collisions and forbidden crossings."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from devices.farm_rover import tolerances
from devices.farm_rover.harm_rules import BED_CROSSING, COLLISION, COMPACTION, KEEP_OUT
from devices.farm_rover.world import Bed, FarmWorld, Soil
from devices.harm import HarmRule
from sims.farm_rover.geometry import Box, Disc, Point, Shape, apart
from sims.harm_ledger import HarmLedger

CUTS = 12
"""Golden sections that locate the deepest overlap within a step: to 0.3 % of its length."""
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


class ContactMonitor:
    """Tracks which shapes the rover's footprint overlaps, for how long, and which call drove it there.

    Initial overlaps are not attributed until the rover has left the shape.

    Args:
        shapes: beds, strips and obstacles, each with the rule that an overlap breaks.
        radius: of the rover's footprint, m.
        start: the initial position.
        dries_at: device time until which an overlap of a shape is harm, s; always where it is left out.
    """

    def __init__(
        self,
        shapes: Mapping[Shape, HarmRule],
        radius: float,
        start: Point,
        dries_at: Mapping[Shape, float] = MappingProxyType({}),
    ) -> None:
        self.shapes = dict(shapes)
        self._dries_at = dries_at
        self._radius = radius
        self._t = 0.0
        self._excused = {shape for shape in self.shapes if self._overlap(shape, start) > tolerances.OVERLAP}
        self._touched: dict[Shape, int] = {}
        self._step: dict[Shape, _Touch] = {}

    @classmethod
    def of(cls, world: FarmWorld, soil: Soil) -> ContactMonitor:
        """Return the monitor of a world's rover at its initial pose, on its true soil."""
        strips: list[tuple[HarmRule, Mapping[str, Bed]]] = [
            (BED_CROSSING, world.beds),
            (KEEP_OUT, world.keep_out),
            (COMPACTION, world.wet_ground),
        ]
        shapes: dict[Shape, HarmRule] = {
            Box(name, b.x_min, b.x_max, b.y_min, b.y_max): rule
            for rule, boxes in strips
            for name, b in boxes.items()
        }
        shapes |= {Disc(name, o.x, o.y, o.radius): COLLISION for name, o in world.obstacles.items()}
        wet = {name: soil.dries_at(ground.moisture) for name, ground in world.wet_ground.items()}
        dries_at = {shape: wet[shape.name] for shape, rule in shapes.items() if rule is COMPACTION}
        return cls(shapes, world.rover.radius, (world.pose.x, world.pose.y), dries_at)

    def __deepcopy__(self, _memo: dict[int, Any]) -> ContactMonitor:
        """Copy what changes; shapes and rules are shared."""
        twin = copy.copy(self)
        twin._excused, twin._touched, twin._step = set(self._excused), dict(self._touched), dict(self._step)
        return twin

    @property
    def free(self) -> bool:
        """Whether it touches no shape, and has left those in which it stood."""
        return not self._touched and not self._excused

    def _overlap(self, shape: Shape, point: Point) -> float:
        return self._radius - shape.distance(point)

    @property
    def excused(self) -> list[str]:
        """The names of the shapes in which it has stood since the start."""
        return sorted(shape.name for shape in self._excused)

    def overlaps(self, point: Point) -> dict[str, float]:
        """Return the depth, m, of each overlap of the rover's footprint at this point, by shape."""
        depths = {shape.name: self._overlap(shape, point) for shape in self.shapes}
        return {name: depth for name, depth in depths.items() if depth > tolerances.OVERLAP}

    def near(self, points: list[Point], margin: float = 0.0) -> list[Shape]:
        """Return the shapes that a drive along these corners, or off them by a margin (m), overlaps."""
        legs = list(pairwise(points)) or [(points[0], points[0])]
        reach = self._radius + margin - tolerances.OVERLAP
        return [
            shape
            for shape in self.shapes
            if shape in self._touched
            or shape in self._excused
            or any(not apart(shape, a, b, reach) and shape.segment_distance(a, b) < reach for a, b in legs)
        ]

    def moved(self, a: Point, b: Point, call: int, near: Iterable[Shape] | None = None) -> float:
        """Track a straight step of a call from a to b; return the overlap with obstacles at b, m.

        The moment of touching or leaving a shape is interpolated: a step is up to 50 ms long. Only shapes in
        `near` may overlap; None: all.
        """
        deepest, free = 0.0, self.free
        for shape in self.shapes if near is None else near:
            depth = self._overlap(shape, b)
            if free and depth <= 0.0:
                continue
            before = self._overlap(shape, a)
            if self.shapes[shape].kind == COLLISION.kind:
                deepest = max(deepest, depth)
            touches = depth > tolerances.OVERLAP
            if shape in self._excused:
                if not touches:
                    self._excused.discard(shape)
                continue
            if not touches and shape not in self._touched:
                continue
            by = self._touched.setdefault(shape, call)
            crossing = before / (before - depth) if touches != (before > tolerances.OVERLAP) else None
            self._step[shape] = self._touch(shape, a, b, by, touches, crossing)
            if not touches:
                del self._touched[shape]
        return deepest

    def until(self, t: float, ledger: HarmLedger) -> None:
        """Note the overlaps of a step that ends at device time t, s, in the ledger."""
        length = t - self._t
        for shape, touch in self._step.items():
            start, end = self._t + touch.start * length, self._t + touch.end * length
            exposure, last = touch.mean * length, self._dries_at.get(shape, math.inf)
            if end > last > start:
                exposure *= (last - start) / (end - start)
            end = min(end, last)
            if end > start:
                kind = self.shapes[shape].kind
                ledger.note(kind, shape.name, touch.call, start, end, touch.deepest, exposure)
        # Overlaps persist as long as the rover does not move.
        if self._step:
            self._step = {shape: self._step[shape].stay() for shape in self._touched}
        self._t = t

    def _touch(
        self, shape: Shape, a: Point, b: Point, call: int, touches: bool, crossing: float | None
    ) -> _Touch:
        def overlap(share: float) -> float:
            at = (a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1]))
            return self._overlap(shape, at)

        start, end = 0.0, 1.0
        if crossing is not None:
            start, end = (crossing, 1.0) if touches else (0.0, crossing)
        ends, middle = (max(0.0, overlap(start)), max(0.0, overlap(end))), overlap(0.5 * (start + end))
        mean = (ends[0] + 4.0 * max(0.0, middle) + ends[1]) / 6.0 * (end - start)
        return _Touch(call, start, end, max(*ends, _greatest(overlap, start, end)), mean, ends[1])


@dataclass(frozen=True, slots=True)
class _Touch:
    """An overlap within a step: its call, the shares of the step at which it begins and ends, its depth, m.

    Attributes:
        mean: of the overlap over the whole step.
        last: at its end.
    """

    call: int
    start: float
    end: float
    deepest: float
    mean: float
    last: float

    def stay(self) -> _Touch:
        """Return the overlap in the next step of a rover that stands."""
        return _Touch(self.call, 0.0, 1.0, self.last, self.last, self.last)


def _greatest(overlap: Callable[[float], float], low: float, high: float) -> float:
    """Return the peak over a straight step; the depth in a convex shape is concave there, so there is one."""
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = overlap(left), overlap(right)
    for _ in range(CUTS):
        if at_left < at_right:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = overlap(right)
        else:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = overlap(left)
    return max(at_left, at_right)
