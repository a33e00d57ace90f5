"""Fitting the hidden parameters of a rig to its logged episodes, all of them together.

Three steps. Least squares (`scipy.optimize.least_squares`) on what changes smoothly: lengths of calls, times
of switching, quantities on the wrong side of a threshold. They stop at the first peak, so every parameter
is tried over its whole range, the others as found, and where the full likelihood is higher elsewhere the
squares start again from there. Then an ensemble drawn round that optimum is weighed by the full likelihood,
which has steps and many small peaks, and its spread is the answer's. A parameter that the episodes do not
pin keeps what was believed before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core_eval.harm.replay import MakeSimulator
from core_eval.harm.twin.likelihood import log_likelihood, residuals
from core_eval.harm.twin.logged_episode import LoggedEpisode
from core_eval.harm.twin.member import Driver
from core_eval.harm.twin.parameters import NORMAL, Beliefs, Estimate
from core_eval.harm.twin.particles import assimilate

MEMBERS = 32
WIDER = 1.2
"""The ensemble is drawn by so much wider than least squares say."""
LEAST_OF_SQUARES = 0.3
"""A spread is at least this share of what least squares say: a small ensemble may collapse by chance."""
FEEL, FELT = 0.7, 0.1
"""A parameter whose move by so many deviations changes the log-likelihood by less is left as it was."""
STEP = 0.03
"""For the derivatives, in standard normal scores; far above the tick of device time."""
ORIGIN = 10.0
"""Added to the scores for the optimiser, whose steps are relative."""
EDGE = 3.0
"""Scores are searched up to so many deviations."""
EVALUATIONS = 15
SCANNED = tuple(np.linspace(-2.1, 2.1, 13))
"""Scores at which a parameter is tried while the others stay."""
NUDGES = (-0.5, -0.15, -0.05, -0.015, 0.015, 0.05, 0.15, 0.5)
"""And by how much it is moved from where it is: peaks are narrow."""
ROUNDS = 4
"""Of least squares and of trying, at most."""
BETTER = 1.0
"""Another round follows where the logarithm of the posterior grew by more than this."""
PINNED = 0.5
"""Pinned is a parameter whose spread shrinks below this share of what it was."""
LEAST_SPREAD = 0.02
"""No spread is stated below this share of what it was: no rig is its model to the last digit."""

Scores = NDArray[np.float64]


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
        effective: the effective sample size of the ensemble.
        log_likelihood, nominal_log_likelihood: of all episodes, at best and with nominal parameters.
    """

    parameters: tuple[Fitted, ...]
    episodes: int
    runs: int
    effective: float
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
    nominal = fit.run({one.parameter.name: one.parameter.nominal for one in beliefs.each})[0]
    centre, covariance = _optimum(fit, len(beliefs.each))
    active = [index for index in range(len(beliefs.each)) if _felt(fit, centre, index)]
    root = WIDER * np.linalg.cholesky(covariance[np.ix_(active, active)])

    def judge(drawn: Scores) -> _Member:
        scores = centre.copy()
        scores[active] += root @ drawn
        likelihood = fit.run(beliefs.values(scores))[0]
        # The ensemble starts from the optimum's surroundings, not from what was believed: this is the odds.
        odds = float(drawn @ drawn - scores @ scores) / 2.0
        return _Member(scores, likelihood, likelihood + odds)

    ensemble = assimilate(beliefs.draw(MEMBERS, rng)[:, : len(active)], judge, rng)
    scores = np.array([member.scores for member in ensemble.members])
    widths = np.sqrt(np.diag(covariance))
    return Calibration(
        tuple(
            _fitted(
                beliefs, index, scores[:, index] if index in active else None, ensemble.weights, widths[index]
            )
            for index in range(len(beliefs.each))
        ),
        len(episodes),
        fit.runs,
        ensemble.effective,
        max(member.likelihood for member in ensemble.members),
        nominal,
    )


@dataclass(frozen=True, slots=True)
class _Member:
    """A vector of parameters that was tried.

    Attributes:
        scores: its standard normal scores.
        likelihood: of all episodes, its logarithm.
        log_likelihood: the same against the odds of drawing it.
    """

    scores: Scores
    likelihood: float
    log_likelihood: float


class _Fit:
    """All episodes, run with one vector of parameters after the other."""

    def __init__(
        self, drivers: Sequence[Driver], episodes: Sequence[LoggedEpisode], beliefs: Beliefs
    ) -> None:
        self._drivers = drivers
        self._episodes = episodes
        self.beliefs = beliefs
        self.runs = 0

    def run(self, hidden: dict[str, float]) -> tuple[float, list[float]]:
        """The log-likelihood of all episodes, and the residuals."""
        self.runs += 1
        total, missed = 0.0, []
        for driver, episode in zip(self._drivers, self._episodes, strict=True):
            track = driver.drive(episode, hidden, 0, timed=True, settle=False)
            total += log_likelihood(episode, track)
            missed += residuals(episode, track)
        return total, missed

    def posterior(self, scores: Scores) -> float:
        """Its logarithm at these scores, up to a constant."""
        return self.run(self.beliefs.values(scores))[0] - float(scores @ scores) / 2.0


def _optimum(fit: _Fit, size: int) -> tuple[Scores, Scores]:
    """The highest peak found, and the covariance of the smooth part there."""
    start, reached = np.zeros(size), -np.inf
    for _ in range(ROUNDS):
        centre, covariance = _least_squares(fit, start)
        height = fit.posterior(centre)
        if height > reached:
            best, reached = (centre, covariance), height
        start, higher = _scanned(fit, best[0], reached)
        if higher - reached <= BETTER:
            break
        # Kept even where least squares, which see less than the likelihood, lead away from it again.
        best, reached = (start, best[1]), higher
    return best


def _scanned(fit: _Fit, centre: Scores, height: float) -> tuple[Scores, float]:
    """Each parameter in turn at its best value with the others as they are, and the posterior there."""
    best = centre
    for index in range(len(centre)):
        here = best[index]
        for score in (*SCANNED, *(min(EDGE, max(-EDGE, here + nudge)) for nudge in NUDGES)):
            moved = best.copy()
            moved[index] = score
            higher = fit.posterior(moved)
            if higher > height:
                best, height = moved, higher
    return best, height


def _least_squares(fit: _Fit, start: Scores) -> tuple[Scores, Scores]:
    """The optimum of the smooth part next to these scores, and the covariance there."""
    from scipy.optimize import least_squares

    def missed(shifted: Scores) -> Scores:
        scores = shifted - ORIGIN
        # What was believed before is one more residual for each parameter.
        return np.concatenate([fit.run(fit.beliefs.values(scores))[1], scores])

    found = least_squares(
        missed,
        start + ORIGIN,
        bounds=(ORIGIN - EDGE, ORIGIN + EDGE),
        loss="soft_l1",
        diff_step=STEP / ORIGIN,
        max_nfev=EVALUATIONS,
        xtol=1e-5,
        ftol=1e-5,
    )
    precision = found.jac.T @ found.jac
    covariance = np.linalg.inv(precision + 1e-9 * np.eye(len(start)))
    return found.x - ORIGIN, covariance


def _felt(fit: _Fit, centre: Scores, index: int) -> bool:
    """Whether the likelihood depends on a parameter at all near these scores."""
    here = fit.run(fit.beliefs.values(centre))[0]
    for step in (-FEEL, FEEL):
        moved = centre.copy()
        moved[index] += step
        if abs(fit.run(fit.beliefs.values(moved))[0] - here) >= FELT:
            return True
    return False


def _fitted(beliefs: Beliefs, index: int, scores: Scores | None, weights: Scores, width: float) -> Fitted:
    """A parameter's result; without scores, since the episodes do not depend on it, what was believed."""
    belief = beliefs.each[index]
    before = float(np.std([belief.value(NORMAL.inv_cdf(share)) for share in np.linspace(0.005, 0.995, 100)]))
    if scores is None:
        return Fitted(belief.parameter.name, Estimate(belief.value(0.0), before), before, False)
    values = np.array([belief.value(float(score)) for score in scores])
    mean = float(weights @ values)
    spread = float(np.sqrt(weights @ (values - mean) ** 2))
    middle = float(weights @ scores)
    squares = abs(belief.value(middle + width) - belief.value(middle - width)) / 2.0
    estimate = Estimate(mean, max(spread, LEAST_OF_SQUARES * squares, LEAST_SPREAD * before))
    return Fitted(belief.parameter.name, estimate, before, estimate.spread < PINNED * before)
