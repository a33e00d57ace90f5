"""The ROC curve of a statistic: detected share against false-alarm rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np

from core_eval.harm.detection.telemetry_vector import Matrix

FALSE_ALARMS = 0.05
DECIMALS = 9
"""Scores that agree in these are equal: tests with the same threshold."""


@dataclass(frozen=True, slots=True)
class Roc:
    """Detected share by false-alarm rate.

    Attributes:
        points: `(false-alarm rate, detected share)` of each threshold, from (0, 0) to (1, 1).
    """

    points: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, null: Matrix, harmful: Matrix) -> Self:
        """Build the curve from the scores of harmless and harmful courses."""
        null, harmful = np.round(null, DECIMALS), np.round(harmful, DECIMALS)
        points = [(0.0, 0.0)]
        for level in sorted({*null.tolist(), *harmful.tolist()}, reverse=True):
            points.append((float(np.mean(null >= level)), float(np.mean(harmful >= level))))
        return cls(tuple(points))

    def at(self, rate: float) -> float:
        """Return the detected share at a false-alarm rate.

        Between two thresholds the test alarms by chance at the lower one, so that the rate is met exactly.
        """
        for (left, low), (right, high) in pairwise(self.points):
            if right > rate:
                return low + (high - low) * (rate - left) / (right - left)
        return 1.0

    def thinned(self) -> list[list[float]]:
        """Return the points that are corners, for JSON and drawings."""
        kept = [self.points[0]]
        for before, point, after in zip(self.points, self.points[1:], self.points[2:], strict=False):
            if not _in_line(before, point, after):
                kept.append(point)
        kept.append(self.points[-1])
        return [[round(x, 4), round(y, 4)] for x, y in kept]


def _in_line(one: Sequence[float], two: Sequence[float], three: Sequence[float]) -> bool:
    return one[0] == two[0] == three[0] or one[1] == two[1] == three[1]


def mean_roc(curves: Sequence[Roc], rates: Sequence[float]) -> list[tuple[float, float]]:
    """Return the mean detected share of several events at these false-alarm rates."""
    return [(rate, float(np.mean([curve.at(rate) for curve in curves]))) for rate in rates]
