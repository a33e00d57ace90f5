"""What a twin believes of a rig's hidden parameters: a distribution for each, and draws from it.

Each parameter is mapped from a standard normal score, so that an ensemble lives in a space in which what was
believed before an episode is the same for all of them: independent, mean 0, variance 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from devices.hidden import HiddenParameter, hidden_parameters

NORMAL = NormalDist()
LEAST_SHARE = 1e-9
"""No draw lies further in the tail of its distribution than this share."""
OUTSIDE = 4.0
"""By so many spreads an estimate outside its parameter's range widens it."""

Scores = NDArray[np.float64]
"""Members by parameters: standard normal scores."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What calibration found of a parameter: its value and standard deviation, in the parameter's unit."""

    value: float
    spread: float


@dataclass(frozen=True, slots=True)
class Belief:
    """The distribution of one hidden parameter.

    Without an estimate it is uniform over the parameter's range, on its scale; with one it is normal on that
    scale, cut to the range (widened where the estimate itself lies outside).
    """

    parameter: HiddenParameter
    estimate: Estimate | None = None

    def value(self, score: float) -> float:
        """The parameter's value at a standard normal score."""
        share = min(max(NORMAL.cdf(score), LEAST_SHARE), 1.0 - LEAST_SHARE)
        if self.estimate is None:
            return self.parameter.at(share)
        low, high = self._scaled(self.parameter.low), self._scaled(self.parameter.high)
        middle, spread = self._scaled(self.estimate.value), self._scaled_spread()
        if not spread:
            return self.estimate.value
        low, high = self._cuts(low, high, middle, spread)
        below = max(NORMAL.cdf((low - middle) / spread), LEAST_SHARE)
        above = min(NORMAL.cdf((high - middle) / spread), 1.0 - LEAST_SHARE)
        return self._unscaled(middle + spread * NORMAL.inv_cdf(below + share * (above - below)))

    @staticmethod
    def _cuts(low: float, high: float, middle: float, spread: float) -> tuple[float, float]:
        """Where the normal distribution is cut: at the range, unless the estimate lies outside of it."""
        return (
            low if middle >= low else middle - OUTSIDE * spread,
            high if middle <= high else middle + OUTSIDE * spread,
        )

    def _scaled(self, value: float) -> float:
        return math.log(max(value, 1e-12)) if self.parameter.scale == "log" else value

    def _unscaled(self, value: float) -> float:
        return math.exp(value) if self.parameter.scale == "log" else value

    def _scaled_spread(self) -> float:
        assert self.estimate is not None
        if self.parameter.scale == "log":
            return self.estimate.spread / max(self.estimate.value, 1e-12)
        return self.estimate.spread


class Beliefs:
    """The beliefs of all hidden parameters of a world, in the order of the world's fields."""

    def __init__(self, parameters: Sequence[HiddenParameter], estimates: Mapping[str, Estimate]) -> None:
        """Take what calibration found; parameters without an estimate keep their range.

        Raises:
            KeyError: an estimate is of no parameter; the text names those there are.
        """
        known = {parameter.name for parameter in parameters}
        for name in estimates:
            if name not in known:
                raise KeyError(f"no hidden parameter {name!r}; there are {', '.join(sorted(known))}")
        self.each = tuple(Belief(parameter, estimates.get(parameter.name)) for parameter in parameters)

    @classmethod
    def of(cls, state: Any, estimates: Mapping[str, Estimate]) -> Beliefs:
        """The beliefs of a world's state, by its part `hidden`."""
        return cls(hidden_parameters(type(state.hidden)), estimates)

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters' names, in the order of the scores."""
        return tuple(belief.parameter.name for belief in self.each)

    def values(self, scores: Sequence[float] | NDArray[np.float64]) -> dict[str, float]:
        """One member's parameters by name."""
        return {
            belief.parameter.name: belief.value(float(score))
            for belief, score in zip(self.each, scores, strict=True)
        }

    def draw(self, members: int, rng: np.random.Generator) -> Scores:
        """Scores for so many members, by Latin hypercube: each parameter's distribution is covered evenly."""
        shares = np.empty((members, len(self.each)))
        for column in range(len(self.each)):
            shares[:, column] = (rng.permutation(members) + rng.random(members)) / members
        shares = np.clip(shares, LEAST_SHARE, 1.0 - LEAST_SHARE)
        scores: Scores = np.vectorize(NORMAL.inv_cdf, otypes=[float])(shares)
        return scores
