"""Fits the hidden parameters of a rig jointly to its logged episodes.

Three steps. Least squares (`scipy.optimize.least_squares`) on what changes smoothly: lengths of calls, times
of switching, quantities on the wrong side of a threshold. It stops at the first local optimum, so each
parameter is scanned over its whole range, the others fixed, and where the full likelihood is higher elsewhere
least squares restarts there. Then an ensemble drawn around that optimum is weighted by the full likelihood,
which has steps and many small peaks, and its spread is the result's. A parameter that is not identifiable
keeps its prior.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core_eval.harm.replay import MakeSimulator
from core_eval.harm.twin.fit import REPLICATES, at_most, replicated
from core_eval.harm.twin.likelihood import channels, log_likelihood, residuals
from core_eval.harm.twin.logged_episode import LoggedEpisode
from core_eval.harm.twin.member import Driver, Track
from core_eval.harm.twin.parameters import NORMAL, Estimate, Priors
from core_eval.harm.twin.particles import assimilate
from core_eval.log.rows import BAD_FIT

MEMBERS = 32
PROPOSAL_SCALE = 1.2
"""Factor by which the proposal is wider than the least-squares estimate."""
MIN_LEAST_SQUARES_SHARE = 0.3
"""Lower bound of a spread, as a share of the least-squares one: a small ensemble may collapse by chance."""
SENSITIVITY_STEP, SENSITIVITY_MIN = 0.7, 0.1
"""Step, in deviations, and the least change of the log-likelihood that makes a parameter identifiable."""
STEP = 0.03
"""Step for derivatives, in standard normal scores; far above the resolution of device time."""
ORIGIN = 10.0
"""Added to the scores for the optimiser, whose steps are relative."""
SCORE_BOUND = 3.0
"""Bound of the search, in deviations."""
EVALUATIONS = 15
SCAN_SCORES = tuple(np.linspace(-2.1, 2.1, 13))
"""Scores of the coordinate scan."""
LOCAL_STEPS = (-0.5, -0.15, -0.05, -0.015, 0.015, 0.05, 0.15, 0.5)
"""Local steps of the scan around the current score, since peaks are narrow."""
ROUNDS = 4
"""Maximum rounds of least squares and scan."""
LOG_POSTERIOR_TOL = 1.0
"""Another round follows if the log-posterior grew by more than this."""
IDENTIFIED_SHARE = 0.5
"""A parameter is identified if its spread shrinks below this share of the prior's."""
MIN_SPREAD_SHARE = 0.02
"""Lower bound of a spread, as a share of the prior's: no model is exact."""

Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Fitted:
    """One parameter after calibration.

    Attributes:
        estimate: mean and standard deviation over the posterior, in the parameter's unit.
        before: the standard deviation of the prior.
        identified: whether the episodes determine it; else the prior is kept.
        information: Fisher's, of the smooth part, the other parameters free, in multiples of the prior's.
        told_by: the channel whose log-likelihood falls most if it alone moves; None where none does.
    """

    name: str
    estimate: Estimate
    before: float
    identified: bool
    information: float = 0.0
    told_by: str | None = None


@dataclass(frozen=True, slots=True)
class Calibration:
    """The result of a calibration.

    Attributes:
        parameters: in the order of the world's fields.
        episodes: how many it was fitted to.
        runs: how many parameter vectors were tried.
        effective: the effective sample size of the ensemble.
        log_likelihood, nominal_log_likelihood: of all episodes, at best and with nominal parameters.
        expected_log_likelihood: the mean of telemetry drawn at best.
        fit: the p-value of the predictive check at best.
        best: the parameters at best, by name.
    """

    parameters: tuple[Fitted, ...]
    episodes: int
    runs: int
    effective: float
    log_likelihood: float
    nominal_log_likelihood: float
    expected_log_likelihood: float
    fit: float
    best: Mapping[str, float]

    @property
    def explains(self) -> bool:
        """Whether the model with the best parameters explains the episodes."""
        return self.fit >= BAD_FIT

    @property
    def estimates(self) -> dict[str, Estimate]:
        """The estimates of the identified parameters."""
        return {fitted.name: fitted.estimate for fitted in self.parameters if fitted.identified}


def calibrate(
    make_simulators: Sequence[MakeSimulator],
    episodes: Sequence[LoggedEpisode],
    priors: Priors,
    seed: int,
    on_run: Callable[[], None] = lambda: None,
) -> Calibration:
    """Fit the parameters to the episodes.

    Args:
        make_simulators: for each episode, a simulator of its initial state.
        episodes: the logs.
        priors: the distributions of the parameters before calibration.
        seed: of the draws; the same seed, the same result.
        on_run: called after each parameter vector; see `expected_runs`.

    Raises:
        ReplayError: a simulator refuses the parameters.
    """
    fit = _Fit([Driver(make) for make in make_simulators], episodes, priors, on_run)
    rng = np.random.default_rng(seed)
    nominal = fit.run({one.parameter.name: one.parameter.nominal for one in priors.each})[0]
    centre, covariance = _optimum(fit, len(priors.each))
    active = [index for index in range(len(priors.each)) if _is_identifiable(fit, centre, index)]
    root = PROPOSAL_SCALE * np.linalg.cholesky(covariance[np.ix_(active, active)])

    def evaluate(drawn: Scores) -> _Member:
        scores = centre.copy()
        scores[active] += root @ drawn
        likelihood = fit.run(priors.values(scores))[0]
        # The proposal is centred on the optimum, not on the prior: this is the importance ratio.
        odds = float(drawn @ drawn - scores @ scores) / 2.0
        return _Member(scores, likelihood, likelihood + odds)

    ensemble = assimilate(priors.draw(MEMBERS, rng)[:, : len(active)], evaluate, rng)
    scores = np.array([member.scores for member in ensemble.members])
    widths = np.sqrt(np.diag(covariance))
    best = max(ensemble.members, key=lambda member: member.likelihood)
    expected, share = fit.predictive_check(best.scores, rng)
    return Calibration(
        tuple(
            replace(
                _fitted(
                    priors,
                    index,
                    scores[:, index] if index in active else None,
                    ensemble.weights,
                    widths[index],
                ),
                # Without telemetry the covariance is the prior's, 1.
                information=max(0.0, float(1.0 / covariance[index, index]) - 1.0),
                told_by=channel,
            )
            for index, channel in enumerate(fit.told_by(best.scores))
        ),
        len(episodes),
        fit.runs,
        ensemble.effective,
        best.likelihood,
        nominal,
        expected,
        share,
        priors.values(best.scores),
    )


def telling(
    make_simulator: MakeSimulator, episode: LoggedEpisode, priors: Priors, best: Mapping[str, float]
) -> dict[str, str | None]:
    """Return for each parameter the channel of an episode that tells it best; None where none tells it.

    Args:
        make_simulator: a simulator of the episode's initial state.
        episode: its log, of a rig with the parameters `best`.
        priors: of the parameters.
        best: the parameters by name.
    """
    fit = _Fit([Driver(make_simulator)], [episode], priors, lambda: None)
    return dict(zip(priors.names, fit.told_by(priors.scores(best)), strict=True))


@dataclass(frozen=True, slots=True)
class _Member:
    """An evaluated parameter vector.

    Attributes:
        scores: its standard normal scores.
        likelihood: of all episodes, its logarithm.
        log_likelihood: the same with the importance ratio of the proposal.
    """

    scores: Scores
    likelihood: float
    log_likelihood: float


def expected_runs(parameters: int) -> int:
    """Return about how many parameter vectors `calibrate` tries for so many parameters.

    It is computed for two rounds, and for an ensemble that is weighted at once.
    """
    scanned = len(SCAN_SCORES) + len(LOCAL_STEPS)
    each_round = (EVALUATIONS + 1) * (parameters + 1) + 1 + scanned * parameters
    return 1 + 2 * each_round + 3 * parameters + MEMBERS


class _Fit:
    """Runs all episodes with a given parameter vector."""

    def __init__(
        self,
        drivers: Sequence[Driver],
        episodes: Sequence[LoggedEpisode],
        priors: Priors,
        on_run: Callable[[], None],
    ) -> None:
        self._drivers = drivers
        self._episodes = episodes
        self.priors = priors
        self.runs = 0
        self._on_run = on_run

    def run(self, hidden: dict[str, float]) -> tuple[float, list[float]]:
        """Return the log-likelihood of all episodes, and the residuals."""
        self.runs += 1
        total, missed = 0.0, []
        for driver, episode in zip(self._drivers, self._episodes, strict=True):
            track = driver.drive(episode, hidden, 0, timed=True, settle=False)
            total += log_likelihood(episode, track)
            missed += residuals(episode, track)
        self._on_run()
        return total, missed

    def predictive_check(self, scores: Scores, rng: np.random.Generator) -> tuple[float, float]:
        """Return the log-likelihood that telemetry drawn at these scores has, and the p-value of the logged.

        The p-value is the lesser of that of the sum and that of the worst channel, corrected for choosing it.
        """
        logged: dict[str, float] = {}
        drawn: dict[str, Scores] = {}
        for episode, track in self._tracks(scores):
            for channel, terms in replicated(episode, track, REPLICATES, 0.0, rng):
                logged[channel.name] = logged.get(channel.name, 0.0) + channel.term
                drawn[channel.name] = drawn.get(channel.name, np.zeros(REPLICATES)) + terms
        if not drawn:
            return 0.0, 1.0
        total: Scores = np.sum(list(drawn.values()), axis=0)
        whole = at_most(total, sum(logged.values()))
        worst = min(at_most(terms, logged[name]) for name, terms in drawn.items())
        return float(total.mean()), min(1.0, 2.0 * whole, 2.0 * len(drawn) * worst)

    def told_by(self, scores: Scores) -> list[str | None]:
        """Return for each parameter the channel that tells it most, or None."""
        here = self._by_channel(scores)
        found: list[str | None] = []
        for index in range(len(scores)):
            losses: dict[str, float] = {}
            for step in (-SENSITIVITY_STEP, SENSITIVITY_STEP):
                moved = scores.copy()
                moved[index] += step
                for name, term in self._by_channel(moved).items():
                    losses[name] = losses.get(name, 0.0) + here.get(name, 0.0) - term
            most = max(losses, key=lambda one: losses[one], default=None)
            found.append(most if most is not None and losses[most] >= SENSITIVITY_MIN else None)
        return found

    def _by_channel(self, scores: Scores) -> dict[str, float]:
        terms: dict[str, float] = {}
        for episode, track in self._tracks(scores):
            for channel in channels(episode, track):
                terms[channel.name] = terms.get(channel.name, 0.0) + channel.term
        return terms

    def _tracks(self, scores: Scores) -> Iterator[tuple[LoggedEpisode, Track]]:
        self.runs += 1
        hidden = self.priors.values(scores)
        for driver, episode in zip(self._drivers, self._episodes, strict=True):
            yield episode, driver.drive(episode, hidden, 0, timed=True, settle=False)

    def posterior(self, scores: Scores) -> float:
        """Return the log-posterior at these scores, up to a constant."""
        return self.run(self.priors.values(scores))[0] - float(scores @ scores) / 2.0


def _optimum(fit: _Fit, size: int) -> tuple[Scores, Scores]:
    """Return the highest peak found, and the covariance of the smooth part there."""
    start, reached = np.zeros(size), -np.inf
    for _ in range(ROUNDS):
        centre, covariance = _least_squares(fit, start)
        height = fit.posterior(centre)
        if height > reached:
            best, reached = (centre, covariance), height
        start, higher = _coordinate_scan(fit, best[0], reached)
        if higher - reached <= LOG_POSTERIOR_TOL:
            break
        # Kept even if least squares, which use less than the likelihood, lead away from it again.
        best, reached = (start, best[1]), higher
    return best


def _coordinate_scan(fit: _Fit, centre: Scores, height: float) -> tuple[Scores, float]:
    """Optimise each parameter in turn with the others fixed; return the scores and the log-posterior."""
    best = centre
    for index in range(len(centre)):
        here = best[index]
        for score in (
            *SCAN_SCORES,
            *(min(SCORE_BOUND, max(-SCORE_BOUND, here + step)) for step in LOCAL_STEPS),
        ):
            moved = best.copy()
            moved[index] = score
            higher = fit.posterior(moved)
            if higher > height:
                best, height = moved, higher
    return best, height


def _least_squares(fit: _Fit, start: Scores) -> tuple[Scores, Scores]:
    """Return the local optimum of the smooth part from these scores, and the covariance there."""
    from scipy.optimize import least_squares

    def missed(shifted: Scores) -> Scores:
        scores = shifted - ORIGIN
        # The prior is one more residual for each parameter.
        return np.concatenate([fit.run(fit.priors.values(scores))[1], scores])

    found = least_squares(
        missed,
        start + ORIGIN,
        bounds=(ORIGIN - SCORE_BOUND, ORIGIN + SCORE_BOUND),
        loss="soft_l1",
        diff_step=STEP / ORIGIN,
        max_nfev=EVALUATIONS,
        xtol=1e-5,
        ftol=1e-5,
    )
    precision = found.jac.T @ found.jac
    covariance = np.linalg.inv(precision + 1e-9 * np.eye(len(start)))
    return found.x - ORIGIN, covariance


def _is_identifiable(fit: _Fit, centre: Scores, index: int) -> bool:
    """Return whether the likelihood depends on a parameter near these scores."""
    here = fit.run(fit.priors.values(centre))[0]
    for step in (-SENSITIVITY_STEP, SENSITIVITY_STEP):
        moved = centre.copy()
        moved[index] += step
        if abs(fit.run(fit.priors.values(moved))[0] - here) >= SENSITIVITY_MIN:
            return True
    return False


def _fitted(priors: Priors, index: int, scores: Scores | None, weights: Scores, width: float) -> Fitted:
    """Return a parameter's result; its prior if `scores` is None (not identifiable)."""
    prior = priors.each[index]
    before = float(np.std([prior.value(NORMAL.inv_cdf(share)) for share in np.linspace(0.005, 0.995, 100)]))
    if scores is None:
        return Fitted(prior.parameter.name, Estimate(prior.value(0.0), before), before, False)
    values = np.array([prior.value(float(score)) for score in scores])
    mean = float(weights @ values)
    spread = float(np.sqrt(weights @ (values - mean) ** 2))
    middle = float(weights @ scores)
    squares = abs(prior.value(middle + width) - prior.value(middle - width)) / 2.0
    estimate = Estimate(mean, max(spread, MIN_LEAST_SQUARES_SHARE * squares, MIN_SPREAD_SHARE * before))
    return Fitted(prior.parameter.name, estimate, before, estimate.spread < IDENTIFIED_SHARE * before)
