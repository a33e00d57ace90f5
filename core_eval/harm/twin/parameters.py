"""The priors of a rig's hidden parameters, and draws from them.

Each parameter is mapped from a standard normal score, so that the prior of an ensemble
is the same for all parameters: independent, mean 0, variance 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from configs.twin_config import TwinConfig
from devices.hidden import HiddenParameter, hidden_parameters

NORMAL = NormalDist()
LEAST_SHARE = 1e-9
"""Draws are clipped at this tail probability."""
BISECTIONS = 60
OUTSIDE = 4.0
"""Number of spreads by which an estimate outside its parameter's range widens it."""

Scores = NDArray[np.float64]
"""Members by parameters: standard normal scores."""


@dataclass(frozen=True, slots=True)
class FittedParameter:
    """A calibrated parameter: its value and standard deviation, in the parameter's unit."""

    value: float
    spread: float


@dataclass(frozen=True, slots=True)
class Prior:
    """The prior distribution of one hidden parameter.

    Without an estimate it is uniform over the parameter's range, on its scale; with one it is normal on that
    scale, cut to the range (widened where the estimate itself lies outside).
    """

    parameter: HiddenParameter
    estimate: FittedParameter | None = None

    def value(self, score: float) -> float:
        """Return the parameter's value at a standard normal score."""
        return self.at_share(share_of(score))

    def at_share(self, share: float) -> float:
        """Return the parameter's value below which this share of its distribution is."""
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

    def score(self, value: float) -> float:
        """Return the standard normal score of a value, within the bounds of the draws."""
        low, high = NORMAL.inv_cdf(LEAST_SHARE), NORMAL.inv_cdf(1.0 - LEAST_SHARE)
        for _ in range(BISECTIONS):
            middle = (low + high) / 2.0
            low, high = (middle, high) if self.value(middle) < value else (low, middle)
        return (low + high) / 2.0

    @staticmethod
    def _cuts(low: float, high: float, middle: float, spread: float) -> tuple[float, float]:
        """Return the truncation of the normal distribution: the range, unless the estimate is outside it."""
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


class Priors:
    """The priors of all hidden parameters of a world, in the order of its fields."""

    def __init__(
        self, parameters: Sequence[HiddenParameter], estimates: Mapping[str, FittedParameter]
    ) -> None:
        """Apply calibration estimates; parameters without one keep their range.

        Raises:
            KeyError: an estimate names no parameter; the message lists the parameters.
        """
        known = {parameter.name for parameter in parameters}
        for name in estimates:
            if name not in known:
                raise KeyError(f"no hidden parameter {name!r}; there are {', '.join(sorted(known))}")
        self.each = tuple(Prior(parameter, estimates.get(parameter.name)) for parameter in parameters)

    @classmethod
    def of(cls, state: Any, estimates: Mapping[str, FittedParameter]) -> Priors:
        """Return the priors of a world's state, from its part `hidden`."""
        return cls(hidden_parameters(type(state.hidden)), estimates)

    @classmethod
    def of_twin(cls, state: Any, twin: TwinConfig) -> Priors:
        """Return the priors of a world's state with what calibration found."""
        found = {name: FittedParameter(one.value, one.spread) for name, one in twin.parameters.items()}
        return cls.of(state, found)

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters' names, in the order of the scores."""
        return tuple(prior.parameter.name for prior in self.each)

    def values(self, scores: Sequence[float] | NDArray[np.float64]) -> dict[str, float]:
        """Return one member's parameters by name."""
        return {
            prior.parameter.name: prior.value(float(score))
            for prior, score in zip(self.each, scores, strict=True)
        }

    def scores(self, values: Mapping[str, float]) -> Scores:
        """Return the scores of these parameters, the inverse of `values`, by bisection."""
        return np.array([prior.score(values[prior.parameter.name]) for prior in self.each])

    def draw(self, members: int, rng: np.random.Generator) -> Scores:
        """Draw the members' scores by Latin hypercube sampling, which covers each distribution evenly."""
        return latin_hypercube(members, len(self.each), rng)


def latin_hypercube(members: int, columns: int, rng: np.random.Generator) -> Scores:
    """Draw standard normal scores that cover each column's distribution evenly."""
    shares = np.empty((members, columns))
    for column in range(columns):
        shares[:, column] = (rng.permutation(members) + rng.random(members)) / members
    shares = np.clip(shares, LEAST_SHARE, 1.0 - LEAST_SHARE)
    scores: Scores = np.vectorize(NORMAL.inv_cdf, otypes=[float])(shares) if columns else shares
    return scores


def share_of(score: float) -> float:
    """Return the share of a standard normal distribution below a score."""
    return min(max(NORMAL.cdf(score), LEAST_SHARE), 1.0 - LEAST_SHARE)
