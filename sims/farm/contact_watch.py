"""Collisions, and drives over beds and strips to keep out of: the rover's footprint against the field."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from devices.farm_rover.harm_rules import COLLISION
from devices.harm import HarmRule
from sims.farm.geometry import Point, Shape
from sims.harm_ledger import HarmLedger

ABOVE = 1e-9
"""Footprints overlap when they do so by more than this, m."""


class ContactWatch:
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
        self._excused = {shape for shape in self._shapes if self._overlap(shape, start) > ABOVE}
        self._touched: dict[Shape, tuple[float, int]] = {}
        self._depths = {shape: self._overlap(shape, start) for shape in self._shapes}
        self._crossed: dict[Shape, float] = {}
        self._left: dict[Shape, tuple[float, int]] = {}

    def __deepcopy__(self, _memo: dict[int, Any]) -> ContactWatch:
        """Shapes and rules never change, so they are shared."""
        twin = copy.copy(self)
        twin._excused, twin._touched = set(self._excused), dict(self._touched)
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
        return {name: depth for name, depth in depths.items() if depth > ABOVE}

    def near(self, points: list[Point], margin: float = 0.0) -> bool:
        """Whether a drive along these corners, or off them by a margin (m), overlaps anything at all."""
        legs = list(pairwise(points)) or [(points[0], points[0])]
        reach = self._radius + margin - ABOVE
        return any(shape.segment_distance(a, b) < reach for shape in self._shapes for a, b in legs)

    def moved(self, point: Point, call: int) -> float:
        """The rover comes to this point at the end of this step of a call; its overlap with obstacles, m.

        Where it touched or left a shape within the step is interpolated: a step is up to 50 ms long.
        """
        deepest = 0.0
        for shape, rule in self._shapes.items():
            depth, before = self._overlap(shape, point), self._depths[shape]
            self._depths[shape] = depth
            if (depth > ABOVE) != (before > ABOVE):
                self._crossed[shape] = before / (before - depth)
            if rule.kind == COLLISION.kind:
                deepest = max(deepest, depth)
            if depth <= ABOVE:
                touched = self._touched.pop(shape, None)
                if touched is not None:
                    self._left[shape] = touched
                self._excused.discard(shape)
            elif shape not in self._excused:
                self._touched[shape] = depth, self._touched.get(shape, (depth, call))[1]
        return deepest

    def until(self, t: float, ledger: HarmLedger) -> None:
        """Note in the ledger what the footprint overlaps at the end of a step, at device time t, s."""
        for shape, (depth, call) in self._touched.items():
            start = self._t + self._crossed.get(shape, 0.0) * (t - self._t)
            self._note(ledger, shape, call, start, t, depth)
        for shape, (depth, call) in self._left.items():
            self._note(ledger, shape, call, self._t, self._t + self._crossed[shape] * (t - self._t), depth)
        self._crossed.clear()
        self._left.clear()
        self._t = t

    def _note(
        self, ledger: HarmLedger, shape: Shape, call: int, start: float, end: float, depth: float
    ) -> None:
        if end > start:
            ledger.note(self._shapes[shape].kind, shape.name, call, start, end, depth, depth * (end - start))
