"""Fits the hidden parameters of a rig jointly to its logged episodes.

Three steps. Least squares (`scipy.optimize.least_squares`) on what changes smoothly: lengths of calls, times
of switching, quantities on the wrong side of a threshold. It stops at the first local optimum, so each
parameter is scanned over its whole range, the others fixed, and where the full likelihood is higher elsewhere
least squares restarts there. Then an ensemble drawn around that optimum is weighted by the full likelihood,
which has steps and many small peaks, and its spread is the result's. A parameter that is not identifiable
keeps its prior; one on which nothing in the episodes depends is not even searched for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core_eval.harm.replay import MakeSimulator
from core_eval.harm.twin.episode_runs import EpisodeRuns, Scores
from core_eval.harm.twin.logged_episode import LoggedEpisode
from core_eval.harm.twin.member import Driver
from core_eval.harm.twin.optimum import (
    EVALUATIONS,
    LOCAL_STEPS,
    PROBED_SCORES,
    SCAN_SCORES,
    influential_parameters,
    is_identifiable,
    optimum,
)
from core_eval.harm.twin.parameters import NORMAL, FittedParameter, Priors
from core_eval.harm.twin.particles import assimilate
from core_eval.harm.verdict import BAD_FIT

MEMBERS = 32
PROPOSAL_SCALE = 1.2
"""Factor by which the proposal is wider than the least-squares estimate."""
MIN_LEAST_SQUARES_SHARE = 0.3
"""Lower bound of a spread, as a share of the least-squares one: a small ensemble may collapse by chance."""
IDENTIFIED_SHARE = 0.5
"""A parameter is identified if its spread shrinks below this share of the prior's."""
MIN_SPREAD_SHARE = 0.02
"""Lower bound of a spread, as a share of the prior's: no model is exact."""


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
    estimate: FittedParameter
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
        influential: the parameters on which something in the episodes depends.
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
    influential: tuple[str, ...] = ()

    @property
    def explains(self) -> bool:
        """Whether the model with the best parameters explains the episodes."""
        return self.fit >= BAD_FIT

    @property
    def estimates(self) -> dict[str, FittedParameter]:
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
    fit = EpisodeRuns([Driver(make) for make in make_simulators], episodes, priors, on_run)
    rng = np.random.default_rng(seed)
    nominal = fit.run({one.parameter.name: one.parameter.nominal for one in priors.each})[0]
    influential = influential_parameters(fit, len(priors.each))
    found = _search(fit, influential, None, rng)
    expected, share = fit.predictive_check(found.best.scores, rng)
    return Calibration(
        tuple(
            replace(one, information=information, told_by=channel)
            for one, information, channel in zip(
                found.fitted, found.information, fit.told_by(found.best.scores), strict=True
            )
        ),
        len(episodes),
        fit.runs,
        found.effective,
        found.best.likelihood,
        nominal,
        expected,
        share,
        priors.values(found.best.scores),
        tuple(priors.names[index] for index in influential),
    )


def recalibrate(
    make_simulators: Sequence[MakeSimulator],
    episodes: Sequence[LoggedEpisode],
    priors: Priors,
    near: Calibration,
    seed: int,
    on_run: Callable[[], None] = lambda: None,
) -> dict[str, FittedParameter]:
    """Return the estimates of the parameters that these episodes identify, searched from a fit on.

    The same as `calibrate`, in about half of its runs: only near the fit's best parameters, and only those
    that its episodes depend on.
    """
    fit = EpisodeRuns([Driver(make) for make in make_simulators], episodes, priors, on_run)
    influential = [priors.names.index(name) for name in near.influential]
    found = _search(fit, influential, priors.scores(near.best), np.random.default_rng(seed))
    return {one.name: one.estimate for one in found.fitted if one.identified}


@dataclass(frozen=True, slots=True)
class _Found:
    """The result of a search: parameters, the best member, the ensemble's effective size, information."""

    fitted: tuple[Fitted, ...]
    best: _Member
    effective: float
    information: tuple[float, ...]


def _search(
    fit: EpisodeRuns, influential: Sequence[int], start: Scores | None, rng: np.random.Generator
) -> _Found:
    """Fit the influential parameters, by index: from a start on, or over their whole range without one."""
    priors = fit.priors
    centre, covariance = optimum(fit, len(priors.each), influential, start)
    active = [index for index in influential if is_identifiable(fit, centre, index)]
    root = PROPOSAL_SCALE * np.linalg.cholesky(covariance[np.ix_(active, active)])

    def evaluate(drawn: Scores, _least: float) -> _Member:
        scores = centre.copy()
        scores[active] += root @ drawn
        likelihood = fit.run(priors.values(scores))[0]
        # The proposal is centred on the optimum, not on the prior: this is the importance ratio.
        odds = float(drawn @ drawn - scores @ scores) / 2.0
        return _Member(scores, likelihood, likelihood + odds)

    ensemble = assimilate(priors.draw(MEMBERS, rng)[:, : len(active)], evaluate, rng)
    scores = np.array([member.scores for member in ensemble.members])
    widths = np.sqrt(np.diag(covariance))
    fitted = tuple(
        _fitted(priors, index, scores[:, index] if index in active else None, ensemble.weights, widths[index])
        for index in range(len(priors.each))
    )
    # Without telemetry the covariance is the prior's, 1.
    information = tuple(max(0.0, float(1.0 / covariance[i, i]) - 1.0) for i in range(len(fitted)))
    best = max(ensemble.members, key=lambda member: member.likelihood)
    return _Found(fitted, best, ensemble.effective, information)


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
    fit = EpisodeRuns([Driver(make_simulator)], [episode], priors, lambda: None)
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
    return 1 + len(PROBED_SCORES) * parameters + 2 * each_round + 3 * parameters + MEMBERS


def expected_refit_runs(influential: int) -> int:
    """Return about how many parameter vectors `recalibrate` tries for so many parameters."""
    return (EVALUATIONS // 2) * (influential + 1) + 1 + (len(LOCAL_STEPS) + 3) * influential + 5 * MEMBERS


def _fitted(priors: Priors, index: int, scores: Scores | None, weights: Scores, width: float) -> Fitted:
    """Return a parameter's result; its prior if `scores` is None (not identifiable)."""
    prior = priors.each[index]
    before = float(np.std([prior.value(NORMAL.inv_cdf(share)) for share in np.linspace(0.005, 0.995, 100)]))
    if scores is None:
        return Fitted(prior.parameter.name, FittedParameter(prior.value(0.0), before), before, False)
    values = np.array([prior.value(float(score)) for score in scores])
    mean = float(weights @ values)
    spread = float(np.sqrt(weights @ (values - mean) ** 2))
    middle = float(weights @ scores)
    squares = abs(prior.value(middle + width) - prior.value(middle - width)) / 2.0
    estimate = FittedParameter(
        mean, max(spread, MIN_LEAST_SQUARES_SHARE * squares, MIN_SPREAD_SHARE * before)
    )
    return Fitted(prior.parameter.name, estimate, before, estimate.spread < IDENTIFIED_SHARE * before)
