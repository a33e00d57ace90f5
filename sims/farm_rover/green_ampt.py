"""Infiltration by Green and Ampt (1911) under ponded water, in volumes over one area.

With the infiltrated volume F since the front formed, f = k (1 + g/F): k is the conductivity and g the suction
head times the moisture deficit ahead of the front (Chow, Maidment and Mays 1988, eqs. 4.3.6 and 4.3.8). The
head of the standing water is left out, as in the tables of parameters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from devices.farm_rover import tolerances

ITERATIONS = 50


@dataclass(slots=True)
class WettingFront:
    """A front under ponded water from one moment on.

    Attributes:
        k: conductivity times area, L/s.
        g: suction head times moisture deficit times area, L.
        depth: infiltrated at that moment, L.
    """

    k: float
    g: float
    depth: float

    def rate(self, gained: float) -> float:
        """Return the infiltration rate when this volume (L) has been added, L/s."""
        if self.g <= 0.0:
            return self.k
        depth = self.depth + gained
        return self.k * (1.0 + self.g / depth) if depth > 0.0 else math.inf

    def time(self, gained: float) -> float:
        """Return the time that this volume (L) takes, s."""
        if self.g <= 0.0:
            return gained / self.k
        return (gained - self.g * math.log1p(gained / (self.depth + self.g))) / self.k

    def gained(self, t: float) -> float:
        """Return the volume infiltrated within a time (s), L: the inverse of `time`, by Newton's method."""
        k, g, depth = self.k, self.g, self.depth
        if g <= 0.0:
            return k * t
        # Both bounds lie above the root; from there on Newton's method on this convex function only falls.
        x = k * t + math.sqrt(2.0 * g * k * t)
        if depth > 0.0:
            x = min(x, k * (1.0 + g / depth) * t)
        for _ in range(ITERATIONS):
            total = depth + x
            if total <= 0.0:
                return 0.0
            step = (x - g * math.log1p(x / (depth + g)) - k * t) * (total + g) / total
            x -= step
            # The error left after a step is about step^2 g / (2 total (total + g)).
            if step * step * g <= tolerances.ROOT * total * (total + g) * x:
                break
        return max(x, 0.0)

    def gained_time(self, gained: float) -> float:
        """Return the integral over time of the volume infiltrated, until it is `gained`, L s."""
        x, g = gained, self.g
        if g <= 0.0:
            return x * x / 2.0 / self.k
        return (x * x / 2.0 - g * x + g * (self.depth + g) * math.log1p(x / (self.depth + g))) / self.k

    def gained_at(self, rate: float) -> float:
        """Return the volume (L) until infiltration falls to a rate, L/s; infinite where it never does."""
        if rate <= self.k:
            return math.inf
        return self.k * self.g / (rate - self.k) - self.depth
