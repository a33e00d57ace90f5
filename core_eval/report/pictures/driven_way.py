"""The way that a machine took between its calls, as the truth of its rig has it."""

from __future__ import annotations

from collections.abc import Sequence

from core_eval.log.rows import TruthRow
from core_eval.report.pictures.field_shapes import Point
from sims.world_shapes import pose_of

Way = list[tuple[float, Point]]


def driven_way(truth: Sequence[TruthRow]) -> Way:
    """Return the true way of a machine: device times, s, and positions, m.

    Empty where the truth has but the positions after the calls.
    """
    way: Way = []
    known = False
    for row in truth:
        points = row.state.get("_way")
        for point in points if isinstance(points, list) else ():
            match point:
                case [int() | float() as t, int() | float() as x, int() | float() as y]:
                    way.append((t, (x, y)))
                    known = True
        if (pose := pose_of(row.state)) is not None:
            way.append((row.t, (pose["x"], pose["y"])))
    return way if known else []
