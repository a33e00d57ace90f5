"""Infiltration by Philip's two-term law: another law than the kit's, for rigs that a twin does not fit.

Philip (1957), "The theory of infiltration: 4", Soil Science 84: I = S sqrt(t) + A t. The sorptivity S is that
of Green and Ampt's parameters, S^2 = 2 k g, and A two thirds of the conductivity.
"""

from __future__ import annotations

import math

from sims.farm_rover.green_ampt import WettingFront
from sims.farm_rover.soil import SoilColumn

SHARE = 2.0 / 3.0


class PhilipFront(WettingFront):
    """A wetting front with Philip's law; without suction it is the kit's."""

    def _law(self) -> tuple[float, float]:
        return math.sqrt(2.0 * self.k * self.g), SHARE * self.k

    def _root(self, volume: float) -> float:
        """Return the square root of the time at which this volume has gone in."""
        s, a = self._law()
        return (math.sqrt(s * s + 4.0 * a * max(0.0, volume)) - s) / (2.0 * a)

    def rate(self, gained: float) -> float:
        """Return the infiltration rate when this volume (L) has been added, L/s."""
        if self.g <= 0.0:
            return super().rate(gained)
        s, a = self._law()
        root = self._root(self.depth + gained)
        return s / (2.0 * root) + a if root > 0.0 else math.inf

    def time(self, gained: float) -> float:
        """Return the time that this volume (L) takes, s."""
        if self.g <= 0.0:
            return super().time(gained)
        return float(self._root(self.depth + gained) ** 2 - self._root(self.depth) ** 2)

    def gained(self, t: float) -> float:
        """Return the volume infiltrated within a time (s), L."""
        if self.g <= 0.0:
            return super().gained(t)
        s, a = self._law()
        later = self._root(self.depth) ** 2 + t
        return max(0.0, s * math.sqrt(later) + a * later - self.depth)

    def gained_time(self, gained: float) -> float:
        """Return the integral over time of the volume infiltrated, until it is `gained`, L s."""
        if self.g <= 0.0:
            return super().gained_time(gained)
        s, a = self._law()
        low, high = self._root(self.depth), self._root(self.depth + gained)
        whole = 2.0 / 3.0 * s * (high**3 - low**3) + a / 2.0 * (high**4 - low**4)
        return float(whole - self.depth * (high**2 - low**2))

    def gained_at(self, rate: float) -> float:
        """Return the volume (L) until infiltration falls to a rate, L/s; infinite where it never does."""
        if self.g <= 0.0:
            return super().gained_at(rate)
        s, a = self._law()
        if rate <= a:
            return math.inf
        root = s / (2.0 * (rate - a))
        return s * root + a * root * root - self.depth


class PhilipColumn(SoilColumn):
    """A soil column with Philip's infiltration."""

    def _front(self) -> WettingFront:
        return PhilipFront(self.conductivity, self.deficit, self.depth)
