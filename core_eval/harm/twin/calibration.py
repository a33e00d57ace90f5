"""Fitting the hidden parameters of a rig to its logged episodes, all of them together.

The likelihood is not smooth (switches flip, samples come once a minute) and has many small peaks, so no
gradient is asked for. A tempered ensemble finds the region, Powell's method (`scipy.optimize`) the optimum in
it, and the ensemble, moved on, gives means and standard deviations. A parameter that the episodes do not pin
keeps what was believed before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core_eval.harm.replay import MakeSimulator
from core_eval.harm.twin.likelihood import log_likelihood
from core_eval.harm.twin.logged_episode import LoggedEpisode
from core_eval.harm.twin.member import Driver
from core_eval.harm.twin.parameters import NORMAL, Beliefs, Estimate
from core_eval.harm.twin.particles import ACCEPTANCE, assimilate, move

SCREENED = 16
"""So many draws show which parameters the episodes depend on at all."""
FEELS = 0.1
"""A parameter whose move by one deviation changes the log-likelihood by less is left out of the search."""
MEMBERS = 32
MOVES_AFTER = 4
"""Metropolis steps of the ensemble once all of the telemetry is in."""
PINNED = 0.5
"""Pinned is a parameter whose spread shrinks below this share of what it was."""
LEAST_SPREAD = 0.005
"""No spread is stated below this share of what it was: no rig is its model to the last digit."""
EDGE = 3.5
"""Scores are searched up to so many deviations."""

Scores = NDArray[np.float64]
Objective = Callable[[Scores], float]


@dataclass(frozen=True, slots=True)
class Fitted:
    """One parameter after calibration.

    Attributes:
        estimate: mean and standard deviation over the posterior, in the parameter's unit.
        before: the standard deviation of what was believed before.
        pinned: whether the episodes tell of it; else the belief from before stands.
    """

    name: str
    estimate: Estimate
    before: float
    pinned: bool


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a calibration found.

    Attributes:
        parameters: in the order of the world's fields.
        episodes: how many it was fitted to.
        runs: how many parameter vectors were tried.
        log_likelihood, nominal_log_likelihood: of all episodes, at the optimum and with nominal parameters.
    """

    parameters: tuple[Fitted, ...]
    episodes: int
    runs: int
    log_likelihood: float
    nominal_log_likelihood: float

    @property
    def estimates(self) -> dict[str, Estimate]:
        """Those of the pinned parameters."""
        return {fitted.name: fitted.estimate for fitted in self.parameters if fitted.pinned}


def calibrate(
    make_simulators: Sequence[MakeSimulator], episodes: Sequence[LoggedEpisode], beliefs: Beliefs, seed: int
) -> Calibration:
    """Fit the parameters to the episodes.

    Args:
        make_simulators: for each episode, a simulator of its initial state.
        episodes: the logs.
        beliefs: what is believed of the parameters before.
        seed: of the draws; the same seed, the same result.

    Raises:
        ReplayError: a simulator refuses the parameters.
    """
    fit = _Fit([Driver(make) for make in make_simulators], episodes, beliefs)
    rng = np.random.default_rng(seed)
    size = len(beliefs.each)
    nominal = fit.likelihood_of({b.parameter.name: b.parameter.nominal for b in beliefs.each})
    draws = beliefs.draw(SCREENED, rng)
    best = max(draws, key=fit.posterior)
    active = [index for index in range(size) if fit.feels(best, index)]
    samples: NDArray[np.float64] = np.empty((0, 0))
    best = np.zeros(size)
    if active:

        def judge(part: NDArray[np.float64]) -> _Point:
            scores = np.zeros(size)
            scores[active] = part
            return _Point(fit.likelihood(scores))

        drawn = Beliefs([beliefs.each[index].parameter for index in active], {}).draw(MEMBERS, rng)
        samples = _posterior(drawn, judge, rng)
        first = max(samples, key=lambda part: judge(part).log_likelihood - float(part @ part) / 2.0)
        best[active] = first
        best = _optimum(fit.posterior, best, active)
    return Calibration(
        tuple(
            fit.fitted(i, samples[:, active.index(i)] if i in active else None, best[i]) for i in range(size)
        ),
        len(episodes),
        fit.runs,
        fit.likelihood(best),
        nominal,
    )


@dataclass(frozen=True, slots=True)
class _Point:
    """A vector of parameters that was tried."""

    log_likelihood: float


class _Fit:
    """The posterior of the scores, given all episodes."""

    def __init__(
        self, drivers: Sequence[Driver], episodes: Sequence[LoggedEpisode], beliefs: Beliefs
    ) -> None:
        self._drivers = drivers
        self._episodes = episodes
        self._beliefs = beliefs
        self._known: dict[bytes, float] = {}
        self.runs = 0

    def likelihood_of(self, hidden: dict[str, float]) -> float:
        """Log-likelihood of all episodes."""
        self.runs += 1
        return sum(
            log_likelihood(episode, driver.drive(episode, hidden, 0, timed=True, settle=False))
            for driver, episode in zip(self._drivers, self._episodes, strict=True)
        )

    def likelihood(self, scores: Scores) -> float:
        """The same, by scores."""
        key = scores.tobytes()
        if key not in self._known:
            self._known[key] = self.likelihood_of(self._beliefs.values(scores))
        return self._known[key]

    def posterior(self, scores: Scores) -> float:
        """Log-posterior up to a constant."""
        return self.likelihood(scores) - float(scores @ scores) / 2.0

    def feels(self, scores: Scores, index: int) -> bool:
        """Whether the likelihood depends on a parameter near these scores."""
        here = self.likelihood(scores)
        for step in (-1.0, 1.0):
            moved = scores.copy()
            moved[index] += step
            if abs(self.likelihood(moved) - here) >= FEELS:
                return True
        return False

    def fitted(self, index: int, scores: NDArray[np.float64] | None, optimum: float) -> Fitted:
        """The parameter's result from a sample of its posterior; without one it keeps what was believed."""
        belief = self._beliefs.each[index]
        shares = np.linspace(0.005, 0.995, 100)
        before = [belief.value(NORMAL.inv_cdf(share)) for share in shares]
        after = before if scores is None else [belief.value(float(score)) for score in scores]
        width = float(np.std(before))
        mean, spread = float(np.mean(after)), float(np.std(after))
        if scores is not None:
            # A small sample of a posterior with many peaks is too sure of itself: so is the optimum.
            spread = float(np.hypot(spread, belief.value(optimum) - mean))
        estimate = Estimate(mean, max(spread, LEAST_SPREAD * width))
        pinned = scores is not None and estimate.spread < PINNED * width
        return Fitted(belief.parameter.name, estimate, width, pinned)


def _optimum(posterior: Objective, start: Scores, active: Sequence[int]) -> Scores:
    """Powell's method over the parameters that matter."""
    from scipy.optimize import minimize

    def cost(part: Scores) -> float:
        scores = start.copy()
        scores[list(active)] = part
        return -posterior(scores)

    found = minimize(
        cost,
        start[list(active)],
        method="Powell",
        bounds=[(-EDGE, EDGE)] * len(active),
        options={"xtol": 1e-3, "ftol": 1e-4, "maxiter": 2},
    )
    best = start.copy()
    if found.fun < cost(start[list(active)]):
        best[list(active)] = found.x
    return best


def _posterior(
    drawn: Scores, judge: Callable[[NDArray[np.float64]], _Point], rng: np.random.Generator
) -> NDArray[np.float64]:
    """A sample of the posterior: the ensemble after all of the telemetry, moved on."""
    cloud = assimilate(drawn, judge, rng, 1)
    chosen = rng.choice(len(cloud.members), size=len(cloud.members), p=cloud.weights)
    scores, members = cloud.scores[chosen], [cloud.members[index] for index in chosen]
    spread = np.atleast_2d(np.cov(cloud.scores.T, aweights=cloud.weights))
    root = np.linalg.cholesky(spread + 1e-12 * np.eye(scores.shape[1]))
    step, kept = 2.38 / np.sqrt(scores.shape[1]), [scores.copy()]
    for _ in range(MOVES_AFTER):
        accepted = move(scores, members, judge, rng, 1.0, step * root)
        step *= float(np.exp(2.0 * (accepted - ACCEPTANCE)))
        kept.append(scores.copy())
    return np.concatenate(kept)
