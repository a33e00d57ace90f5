"""A particle ensemble over parameters that do not change: tempered weights, resampling, and moves.

Del Moral, Doucet and Jasra, "Sequential Monte Carlo samplers", J. R. Statist. Soc. B 68 (2006): the
likelihood is brought in by and by, each time as far as leaves half of the ensemble effective; then members
are drawn by their weights and moved by random-walk Metropolis steps, so that they do not stay copies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from core_eval.harm.twin.parameters import Scores

EFFECTIVE_SHARE = 0.5
MOST_STAGES = 12
HALVINGS = 40
ACCEPTANCE = 0.3
"""The share of moves that should be accepted; the step length follows it."""


class Judged(Protocol):
    """A member that was run."""

    @property
    def log_likelihood(self) -> float:
        """Of the telemetry, given the member's parameters."""


Member = TypeVar("Member", bound=Judged)
Judge = Callable[[NDArray[np.float64]], Member]
"""Runs one member, given its scores."""


@dataclass(frozen=True)
class Ensemble(Generic[Member]):
    """Members with weights that sum to 1.

    Attributes:
        scores: of each member, standard normal before the telemetry.
        stages: how often the ensemble was drawn again and moved.
        runs: how many members were run in all.
        tempered: the power of the likelihood that was brought in; below 1 where the stages ran out.
    """

    scores: Scores
    members: tuple[Member, ...]
    weights: NDArray[np.float64]
    stages: int
    runs: int
    tempered: float

    @property
    def effective(self) -> float:
        """The effective sample size: how many members of equal weight would tell as much."""
        return float(1.0 / np.sum(self.weights**2))


def assimilate(
    scores: Scores, judge: Judge[Member], rng: np.random.Generator, moves: int = 2
) -> Ensemble[Member]:
    """Bring the telemetry into an ensemble that was drawn from what was believed before.

    Args:
        scores: the members at the start.
        judge: runs a member.
        rng: for resampling and moves.
        moves: Metropolis steps after each resampling.
    """
    members = [judge(row) for row in scores]
    runs, stages, power, step = len(members), 0, 0.0, 1.0
    scores = scores.copy()
    while True:
        likelihood = np.array([member.log_likelihood for member in members])
        rise = _rise(likelihood, 1.0 - power)
        weights = _weights(rise * likelihood)
        power += rise
        if power >= 1.0 or stages == MOST_STAGES:
            return Ensemble(scores, tuple(members), weights, stages, runs, power)
        stages += 1
        spread = _root_of_covariance(scores, weights)
        chosen = _systematic(weights, rng)
        scores, members = scores[chosen], [members[index] for index in chosen]
        for _ in range(moves):
            accepted = move(scores, members, judge, rng, power, step * spread)
            runs += len(members)
            step *= float(np.exp(accepted - ACCEPTANCE))


def _weights(log_weights: NDArray[np.float64]) -> NDArray[np.float64]:
    weights: NDArray[np.float64] = np.exp(log_weights - log_weights.max())
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares


def _rise(likelihood: NDArray[np.float64], most: float) -> float:
    """How far the power may rise and leave enough members effective."""

    def effective(rise: float) -> float:
        return float(1.0 / np.sum(_weights(rise * likelihood) ** 2))

    needed = EFFECTIVE_SHARE * len(likelihood)
    if effective(most) >= needed:
        return most
    low, high = 0.0, most
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if effective(middle) >= needed else (low, middle)
    return low


def _systematic(weights: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    places = (np.arange(len(weights)) + rng.random()) / len(weights)
    chosen: NDArray[np.int64] = np.minimum(np.searchsorted(np.cumsum(weights), places), len(weights) - 1)
    return chosen


def _root_of_covariance(scores: Scores, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """A factor of the weighted covariance, scaled for a random walk in so many dimensions."""
    size = scores.shape[1]
    centred = scores - weights @ scores
    covariance = (centred * weights[:, None]).T @ centred + 1e-10 * np.eye(size)
    root: NDArray[np.float64] = np.linalg.cholesky(covariance) * (2.38 / np.sqrt(size))
    return root


def move(
    scores: Scores,
    members: list[Member],
    judge: Judge[Member],
    rng: np.random.Generator,
    power: float,
    root: NDArray[np.float64],
) -> float:
    """One Metropolis step of every member, in place; the share that was accepted.

    Args:
        scores, members: the ensemble.
        judge: runs a member.
        rng: for steps and chances.
        power: of the likelihood.
        root: a factor of the covariance of the steps.
    """
    accepted = 0
    steps = rng.standard_normal(scores.shape) @ root.T
    for index, (chance, step) in enumerate(zip(rng.random(len(members)), steps, strict=True)):
        proposed = scores[index] + step
        other = judge(proposed)
        gain = power * (other.log_likelihood - members[index].log_likelihood)
        gain += (scores[index] @ scores[index] - proposed @ proposed) / 2.0
        if np.log(max(chance, 1e-300)) < gain:
            scores[index], members[index] = proposed, other
            accepted += 1
    return accepted / len(members)
