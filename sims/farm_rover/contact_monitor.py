"""Collisions, and drives over beds and strips to keep out of: the rover's footprint against the field."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from devices.farm_rover import tolerances
from devices.farm_rover.harm_rules import COLLISION
from devices.harm import HarmRule
from sims.farm_rover.geometry import Point, Shape
from sims.harm_ledger import HarmLedger

CUTS = 12
"""Golden sections by which the deepest overlap on a step's way is found: to 0.3 % of that way."""
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


class ContactMonitor:
    """Which shapes the rover's footprint overlaps, for how long, and which call drove it there.

    What the rover stands in at the start of an episode is nobody's doing until it has left it.

    Args:
        shapes: beds, strips and obstacles, each with the rule that an overlap breaks.
        radius: of the rover's footprint, m.
        start: where it stands at first.
    """

    def __init__(self, shapes: Mapping[Shape, HarmRule], radius: float, start: Point) -> None:
        self._shapes = dict(shapes)
        self._radius = radius
        self._t = 0.0
        self._excused = {shape for shape in self._shapes if self._overlap(shape, start) > tolerances.OVERLAP}
        self._touched: dict[Shape, int] = {}
        self._step: dict[Shape, _Touch] = {}

    def __deepcopy__(self, _memo: dict[int, Any]) -> ContactMonitor:
        """Shapes and rules never change, so they are shared."""
        twin = copy.copy(self)
        twin._excused, twin._touched, twin._step = set(self._excused), dict(self._touched), dict(self._step)
        return twin

    def _overlap(self, shape: Shape, point: Point) -> float:
        return self._radius - shape.distance(point)

    @property
    def excused(self) -> list[str]:
        """The names of the shapes in which it has stood since the start."""
        return sorted(shape.name for shape in self._excused)

    def overlaps(self, point: Point) -> dict[str, float]:
        """By how far the rover's footprint at this point overlaps each shape that it overlaps, m."""
        depths = {shape.name: self._overlap(shape, point) for shape in self._shapes}
        return {name: depth for name, depth in depths.items() if depth > tolerances.OVERLAP}

    def near(self, points: list[Point], margin: float = 0.0) -> bool:
        """Whether a drive along these corners, or off them by a margin (m), overlaps anything at all."""
        legs = list(pairwise(points)) or [(points[0], points[0])]
        reach = self._radius + margin - tolerances.OVERLAP
        return any(shape.segment_distance(a, b) < reach for shape in self._shapes for a, b in legs)

    def moved(self, a: Point, b: Point, call: int) -> float:
        """The rover goes from a to b in this step of a call; its overlap with obstacles at b, m.

        Where it touched or left a shape in between is interpolated: a step is up to 50 ms long.
        """
        deepest = 0.0
        for shape, rule in self._shapes.items():
            before, depth = self._overlap(shape, a), self._overlap(shape, b)
            if rule.kind == COLLISION.kind:
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
        """Note in the ledger what the footprint overlaps in a step that ends at device time t, s."""
        length = t - self._t
        for shape, touch in self._step.items():
            start, end = self._t + touch.start * length, self._t + touch.end * length
            if end > start:
                kind = self._shapes[shape].kind
                ledger.note(kind, shape.name, touch.call, start, end, touch.deepest, touch.mean * length)
        # As long as it does not move, it stays in what it is in.
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
    """What a step overlaps: by which call, from and to which share of the step, how deeply, m.

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
        """The next step, if it ends where it begins."""
        return _Touch(self.call, 0.0, 1.0, self.last, self.last, self.last)


def _greatest(overlap: Callable[[float], float], low: float, high: float) -> float:
    """Over a straight way: the distance from a convex shape is convex there, so there is one peak."""
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
