"""A particle ensemble over static parameters: tempered weights, resampling, and moves.

Del Moral, Doucet and Jasra, "Sequential Monte Carlo samplers", J. R. Statist. Soc. B 68 (2006): the
likelihood is tempered, with increments that leave half of the ensemble effective; then members
are resampled by their weights and moved by Metropolis steps, so that they stay distinct: random walks of all
scores, and draws of some of them from the prior.

Where the prior can be drawn from again, that comes first: independent draws keep what the telemetry does not
tell as the prior has it, and copies of a few members do not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from core_eval.harm.twin.parameters import Scores

EFFECTIVE_SHARE = 0.5
MOST_DRAWS = 3
"""How often the prior is drawn from before members are resampled."""
MOST_STAGES = 12
HALVINGS = 40
ACCEPTANCE = 0.3
"""Target acceptance rate of random walks; it controls the step length."""
ANEW = (0.1, 0.3, 0.7)
"""Shares of a member's scores that are drawn anew together."""


class Evaluated(Protocol):
    """An evaluated member."""

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood of the telemetry, given the member's parameters."""


Member = TypeVar("Member", bound=Evaluated)
Evaluate = Callable[[NDArray[np.float64], float], Member]
"""Evaluates one member, given its scores; one that is known to fit worse than the least log-likelihood may be
returned before its end, with any one below that."""


@dataclass(frozen=True)
class Ensemble(Generic[Member]):
    """Members with weights that sum to 1.

    Attributes:
        scores: of each member, standard normal before the telemetry.
        stages: the number of resampling stages.
        runs: the number of evaluations.
        tempered: the final tempering exponent of the likelihood; below 1 if the stages ran out.
    """

    scores: Scores
    members: tuple[Member, ...]
    weights: NDArray[np.float64]
    stages: int
    runs: int
    tempered: float

    @property
    def effective(self) -> float:
        """The effective sample size."""
        return effective_number(self.weights)

    def reweighted(self, log_likelihood: NDArray[np.float64]) -> Ensemble[Member]:
        """Return the ensemble with its weights multiplied by further likelihoods."""
        return replace(self, weights=weights_of(np.log(np.maximum(self.weights, 1e-300)) + log_likelihood))

    def probability(self, shares: NDArray[np.float64]) -> tuple[float, float]:
        """Return a probability and its Monte Carlo standard error, given that of each member."""
        return probability_of(shares, self.weights)


def probability_of(shares: NDArray[np.float64], weights: NDArray[np.float64]) -> tuple[float, float]:
    """Return a probability and its Monte Carlo standard error, given that of each member.

    The members' spread about the mean over their effective number, with a member more of probability 0
    and one of probability 1: where each is certain, the standard deviation of the beta posterior, so that
    few members that agree are no certainty.
    """
    mean, count = float(np.clip(weights @ shares, 0.0, 1.0)), effective_number(weights)
    middle = (count * mean + 1.0) / (count + 2.0)
    squares = count * float(weights @ (shares - middle) ** 2) + middle**2 + (1.0 - middle) ** 2
    return mean, math.sqrt(squares / (count + 2.0) / (count + 3.0))


def assimilate(
    scores: Scores,
    evaluate: Evaluate[Member],
    rng: np.random.Generator,
    moves: int = 2,
    again: Callable[[], Scores] | None = None,
) -> Ensemble[Member]:
    """Condition an ensemble, drawn from the prior, on the telemetry.

    Args:
        scores: the members at the start.
        evaluate: evaluates a member.
        rng: for resampling and moves.
        moves: random walks after each resampling, each after a `draw_anew` if there is `again`.
        again: draws as many members from the prior anew; None: it cannot be.
    """
    size, scores = len(scores), scores.copy()
    members = [evaluate(row, -math.inf) for row in scores]
    for _ in range(MOST_DRAWS - 1):
        likelihood = np.array([member.log_likelihood for member in members])
        if again is None or effective_number(weights_of(likelihood)) >= EFFECTIVE_SHARE * size:
            break
        more = again()
        members += [evaluate(row, -math.inf) for row in more]
        scores = np.vstack([scores, more])
    runs, stages, exponent, step = len(members), 0, 0.0, 1.0
    while True:
        likelihood = np.array([member.log_likelihood for member in members])
        increment = _tempering_increment(likelihood, 1.0 - exponent, EFFECTIVE_SHARE * size)
        weights = weights_of(increment * likelihood)
        exponent += increment
        if exponent >= 1.0 or stages == MOST_STAGES:
            return Ensemble(scores, tuple(members), weights, stages, runs, exponent)
        stages += 1
        spread = _root_of_covariance(scores, weights)
        chosen = systematic(weights, size, rng)
        scores, members = scores[chosen], [members[index] for index in chosen]
        for _ in range(moves):
            if again is not None:
                draw_anew(scores, members, evaluate, rng, exponent)
                runs += len(members)
            accepted = move(scores, members, evaluate, rng, exponent, step * spread)
            runs += len(members)
            step *= float(np.exp(accepted - ACCEPTANCE))


def weights_of(log_weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights, which sum to 1, given their logarithms up to a constant."""
    weights: NDArray[np.float64] = np.exp(log_weights - log_weights.max())
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares


def effective_number(weights: NDArray[np.float64]) -> float:
    """Return the effective sample size of members with these weights."""
    return float(1.0 / np.sum(weights**2))


def _tempering_increment(likelihood: NDArray[np.float64], most: float, needed: float) -> float:
    """Return the largest tempering increment that leaves this effective sample size."""

    def effective(increment: float) -> float:
        return effective_number(weights_of(increment * likelihood))

    if effective(most) >= needed:
        return most
    low, high = 0.0, most
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if effective(middle) >= needed else (low, middle)
    return low


def systematic(weights: NDArray[np.float64], size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return so many members, by index, each as often as its weight says."""
    places = (np.arange(size) + rng.random()) / size
    chosen: NDArray[np.int64] = np.minimum(np.searchsorted(np.cumsum(weights), places), len(weights) - 1)
    return chosen


def _root_of_covariance(scores: Scores, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a factor of the weighted covariance, scaled for a random walk in its dimension."""
    size = scores.shape[1]
    centred = scores - weights @ scores
    covariance = (centred * weights[:, None]).T @ centred + 1e-10 * np.eye(size)
    root: NDArray[np.float64] = np.linalg.cholesky(covariance) * (2.38 / np.sqrt(size))
    return root


def draw_anew(
    scores: Scores,
    members: list[Member],
    evaluate: Evaluate[Member],
    rng: np.random.Generator,
    exponent: float,
) -> None:
    """Draw some scores of every member from the prior, in place, each where the telemetry allows it.

    One sharp reading leaves copies of few members. What it does not tell then has the prior's spread again,
    which a step in all scores at once would not give back: it would nearly always violate the reading.

    Args:
        scores, members: the ensemble.
        evaluate: evaluates a member.
        rng: for choice, draws and acceptance.
        exponent: the tempering exponent of the likelihood.
    """
    size, columns = scores.shape
    chosen = rng.random(scores.shape) < rng.choice(ANEW, (size, 1))
    chosen[np.arange(size), rng.integers(columns, size=size)] = True
    proposals = np.where(chosen, rng.standard_normal(scores.shape), scores)
    for index, (chance, proposed) in enumerate(zip(rng.random(len(members)), proposals, strict=True)):
        # The draw is from the prior, which therefore cancels out.
        _exchange(scores, members, index, proposed, evaluate, exponent, math.log(max(chance, 1e-300)))


def move(
    scores: Scores,
    members: list[Member],
    evaluate: Evaluate[Member],
    rng: np.random.Generator,
    exponent: float,
    root: NDArray[np.float64],
) -> float:
    """Make one Metropolis step of every member in place; return the acceptance rate.

    Args:
        scores, members: the ensemble.
        evaluate: evaluates a member.
        rng: for steps and acceptance.
        exponent: the tempering exponent of the likelihood.
        root: a factor of the covariance of the steps.
    """
    accepted = 0
    steps = rng.standard_normal(scores.shape) @ root.T
    for index, (chance, step) in enumerate(zip(rng.random(len(members)), steps, strict=True)):
        proposed = scores[index] + step
        needed = math.log(max(chance, 1e-300)) - (scores[index] @ scores[index] - proposed @ proposed) / 2.0
        accepted += _exchange(scores, members, index, proposed, evaluate, exponent, needed)
    return accepted / len(members)


def _exchange(
    scores: Scores,
    members: list[Member],
    index: int,
    proposed: NDArray[np.float64],
    evaluate: Evaluate[Member],
    exponent: float,
    needed: float,
) -> bool:
    """Put a proposal in a member's place if it gains what is needed; return whether it does.

    What is needed is known before: a run that has lost more need not go on.
    """
    if exponent:
        least = members[index].log_likelihood + needed / exponent
    else:
        least = -math.inf if needed < 0.0 else math.inf
    other = evaluate(proposed, least)
    if other.log_likelihood <= least:
        return False
    scores[index], members[index] = proposed, other
    return True
