"""The root zone's water W in closed form, with constant coefficients: dW/dt = f - a W + b."""

from __future__ import annotations

import math
from collections.abc import Callable

from devices.farm_rover import tolerances
from sims.farm_rover.green_ampt import WettingFront

# Abscissae on 0 to 1 and weights of the quadrature of Gauss and Legendre.
_EIGHT = (
    (0.1834346424956498, 0.3626837833783620),
    (0.5255324099163290, 0.3137066458778873),
    (0.7966664774136267, 0.2223810344533745),
    (0.9602898564975363, 0.1012285362903763),
)
EIGHT = tuple((0.5 + side * x / 2.0, w / 2.0) for x, w in _EIGHT for side in (-1.0, 1.0))
THREE = ((0.5, 4.0 / 9.0), (0.5 - 0.15**0.5, 5.0 / 18.0), (0.5 + 0.15**0.5, 5.0 / 18.0))
SHORT = 0.1
"""Share of depth and deficit that three points are exact enough for, to 1e-10 of a times the time."""
ITERATIONS = 100


class SteadyRoot:
    """The root zone with a constant infiltration, L/s; the parameter is the time, s."""

    __slots__ = ("_a", "_gain", "_w0", "_w_inf")

    def __init__(self, infiltration: float, w0: float, a: float, b: float) -> None:
        self._w0, self._a, self._gain = w0, a, infiltration + b
        self._w_inf = self._gain / a if a else 0.0

    def water(self, t: float) -> float:
        """Return W, L."""
        if not self._a:
            return self._w0 + self._gain * t
        return self._w0 - (self._w0 - self._w_inf) * -math.expm1(-self._a * t)

    def water_time(self, t: float) -> float:
        """Return the integral of W, L s."""
        if not self._a:
            return self._w0 * t + self._gain * t * t / 2.0
        return self._w_inf * t - (self._w0 - self._w_inf) * math.expm1(-self._a * t) / self._a

    def crossing(self, level: float) -> float:
        """Return the time at which W reaches a level, s; infinite where it never does."""
        if not self._a:
            t = (level - self._w0) / self._gain if self._gain else -1.0
            return t if t > 0.0 else math.inf
        left = level - self._w_inf
        ratio = (self._w0 - self._w_inf) / left if left else 0.0
        return math.log(ratio) / self._a if ratio > 1.0 else math.inf

    @property
    def rises(self) -> bool:
        """Whether W rises."""
        return self._gain >= self._a * self._w0


class FrontRoot:
    """The root zone under a wetting front; the parameter is the volume infiltrated, L."""

    __slots__ = ("_a", "_b", "_front", "_w0")

    def __init__(self, front: WettingFront, w0: float, a: float, b: float) -> None:
        self._front, self._w0, self._a, self._b = front, w0, a, b

    def water(self, gained: float, t: float | None = None) -> float:
        """Return W, L, where the infiltration took a time t, s."""
        front, a = self._front, self._a
        if t is None:
            t = front.time(gained)
        if not a:
            return self._w0 + self._b * t + gained
        kept = 0.0
        for x, w in THREE if gained < SHORT * (front.depth + front.g) else EIGHT:
            kept += w * math.exp(a * (front.time(gained * x) - t))
        return self._w0 + gained * kept - (self._w0 - self._b / a) * -math.expm1(-a * t)

    def water_time(self, gained: float, water: float, t: float) -> float:
        """Return the integral of W, L s, until it is `water` at t, s."""
        if self._a:
            return (gained + self._b * t - (water - self._w0)) / self._a
        return self._w0 * t + self._b * t * t / 2.0 + self._front.gained_time(gained)

    def slope(self, gained: float, water: float) -> float:
        """Return dW/dt, L/s, where W is `water`."""
        return self._front.rate(gained) - self._a * water + self._b


def root_of(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the zero of a monotone function between arguments on both its sides (Illinois method)."""
    at_low, at_high = function(low), function(high)
    for _ in range(ITERATIONS):
        if at_low == at_high:
            break
        middle = high - at_high * (high - low) / (at_high - at_low)
        if not min(low, high) < middle < max(low, high) or abs(middle - high) <= tolerances.ROOT * abs(
            middle
        ):
            return min(max(middle, min(low, high)), max(low, high))
        value = function(middle)
        if value == 0.0:
            return middle
        if (value > 0.0) == (at_high > 0.0):
            at_low /= 2.0
        else:
            low, at_low = high, at_high
        high, at_high = middle, value
    return high
