"""One piece of the soil's linear system in closed form: dS/dt = k (S_inf - S), dW/dt = k S - a W + b."""

from __future__ import annotations

import math

from devices.farm_rover import tolerances

BISECTIONS = 60


class LinearPiece:
    """Surface store S (L) and root-zone store W (L) from time 0 on, with constant coefficients.

    Args:
        k: infiltration rate constant, 1/s.
        s_inf: the surface store that the inflow would hold up, L; `s0` where the store stays at its rim.
        s0, w0: the stores at time 0, L.
        a: loss rate constant of the root zone, 1/s, 0 for none.
        b: constant gain of the root zone, L/s.
    """

    def __init__(self, k: float, s_inf: float, s0: float, w0: float, a: float, b: float) -> None:
        if a and abs(a - k) < tolerances.TIME_CONSTANTS * k:
            a = k * (1.0 + tolerances.TIME_CONSTANTS)
        self._k, self._s_inf, self._c, self._w0, self._a = k, s_inf, s0 - s_inf, w0, a
        self._gain = b + k * s_inf
        if a:
            self._p = k * self._c / (a - k)
            self._w_inf = self._gain / a
            self._q = w0 - self._w_inf - self._p

    def surface(self, t: float) -> float:
        """Return S at time t."""
        return self._s_inf + self._c * math.exp(-self._k * t)

    def root(self, t: float) -> float:
        """Return W at time t."""
        if not self._a:
            return self._w0 + self._gain * t - self._c * math.expm1(-self._k * t)
        return self._w_inf + self._p * math.exp(-self._k * t) + self._q * math.exp(-self._a * t)

    def surface_time(self, t: float) -> float:
        """Return the integral of S from 0 to t, L s."""
        return self._s_inf * t - self._c * math.expm1(-self._k * t) / self._k

    def root_time(self, t: float) -> float:
        """Return the integral of W from 0 to t, L s."""
        decay = -math.expm1(-self._k * t) / self._k
        if not self._a:
            return self._w0 * t + self._gain * t * t / 2.0 + self._c * (t - decay)
        return self._w_inf * t + self._p * decay - self._q * math.expm1(-self._a * t) / self._a

    def extremum(self) -> float:
        """Return the one time after 0 at which W stops rising or falling; infinite where there is none."""
        if not self._a:
            pull = self._k * self._c
            ratio = -self._gain / pull if pull else 0.0
            t = -math.log(ratio) / self._k if 0.0 < ratio < 1.0 else math.inf
            return t if t > tolerances.EXTREMUM_S else math.inf
        slow = self._a * self._q
        ratio = -self._k * self._p / slow if slow else 0.0
        if ratio <= 0.0:
            return math.inf
        t = math.log(ratio) / (self._k - self._a)
        return t if t > tolerances.EXTREMUM_S else math.inf

    def surface_crossing(self, level: float | None) -> float:
        """Return the time at which S reaches a level; infinite where it never does."""
        if level is None or not self._c:
            return math.inf
        ratio = (level - self._s_inf) / self._c
        return -math.log(ratio) / self._k if 0.0 < ratio < 1.0 else math.inf

    def root_crossing(self, level: float, before: float) -> float:
        """Return the time at which W, monotone until `before` and beyond the level by then, reaches it."""
        low, high = 0.0, before
        rising = level > self._w0
        for _ in range(BISECTIONS):
            middle = (low + high) / 2.0
            if (self.root(middle) >= level) == rising:
                high = middle
            else:
                low = middle
        return high
