"""Searches the parameters of a twin that explain logged episodes best: least squares and a scan in turn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core_eval.harm.twin.episode_runs import SENSITIVITY_MIN, SENSITIVITY_STEP, EpisodeRuns, Scores

STEP = 0.03
"""Step for derivatives, in standard normal scores; far above the resolution of device time."""
ORIGIN = 10.0
"""Added to the scores for the optimiser, whose steps are relative."""
SCORE_BOUND = 3.0
"""Bound of the search, in deviations."""
EVALUATIONS = 15
SCAN_SCORES = tuple(np.linspace(-2.1, 2.1, 13))
"""Scores of the coordinate scan."""
PROBED_SCORES = (-2.1, -0.7, 0.7, 2.1)
"""Scores at which a parameter must change something to be searched for."""
LOCAL_STEPS = (-0.5, -0.15, -0.05, -0.015, 0.015, 0.05, 0.15, 0.5)
"""Local steps of the scan around the current score, since peaks are narrow."""
ROUNDS = 4
"""Maximum rounds of least squares and scan."""
LOG_POSTERIOR_TOL = 1.0
"""Another round follows if the log-posterior grew by more than this."""


def influential_parameters(fit: EpisodeRuns, size: int) -> list[int]:
    """Return the parameters on which something in the episodes depends, by index."""
    here = fit.run(fit.priors.values(np.zeros(size)))
    found = []
    for index in range(size):
        for score in PROBED_SCORES:
            moved = np.zeros(size)
            moved[index] = score
            if fit.run(fit.priors.values(moved)) != here:
                found.append(index)
                break
    return found


def optimum(
    fit: EpisodeRuns, size: int, influential: Sequence[int], start: Scores | None
) -> tuple[Scores, Scores]:
    """Return the highest peak found, and the covariance of the smooth part there.

    Args:
        fit: runs the episodes.
        size: the number of parameters.
        influential: those to search for, by index.
        start: where to begin, to search there alone; None: the whole range.
    """
    begin = np.zeros(size) if start is None else start
    scan = SCAN_SCORES if start is None else ()
    reached = -np.inf
    for _ in range(ROUNDS):
        centre, covariance = _least_squares(fit, begin, influential)
        height = fit.posterior(centre)
        if height > reached:
            best, reached = (centre, covariance), height
        begin, higher = _coordinate_scan(fit, best[0], reached, influential, scan)
        if higher - reached <= LOG_POSTERIOR_TOL:
            break
        # Kept even if least squares, which use less than the likelihood, lead away from it again.
        best, reached = (begin, best[1]), higher
    return best


def _coordinate_scan(
    fit: EpisodeRuns, centre: Scores, height: float, influential: Sequence[int], scan: Sequence[float]
) -> tuple[Scores, float]:
    """Optimise each parameter in turn with the others fixed; return the scores and the log-posterior."""
    best = centre
    for index in influential:
        here = best[index]
        for score in (*scan, *(min(SCORE_BOUND, max(-SCORE_BOUND, here + step)) for step in LOCAL_STEPS)):
            moved = best.copy()
            moved[index] = score
            higher = fit.posterior(moved)
            if higher > height:
                best, height = moved, higher
    return best, height


def _least_squares(fit: EpisodeRuns, start: Scores, influential: Sequence[int]) -> tuple[Scores, Scores]:
    """Return the local optimum of the smooth part from these scores, and the covariance there."""
    from scipy.optimize import least_squares

    covariance = np.eye(len(start))
    if not influential:
        return start, covariance
    places = list(influential)

    def missed(shifted: Scores) -> Scores:
        scores = start.copy()
        scores[places] = shifted - ORIGIN
        # The prior is one more residual for each parameter.
        return np.concatenate([fit.run(fit.priors.values(scores))[1], scores[places]])

    found = least_squares(
        missed,
        np.clip(start[places], -SCORE_BOUND, SCORE_BOUND) + ORIGIN,
        bounds=(ORIGIN - SCORE_BOUND, ORIGIN + SCORE_BOUND),
        loss="soft_l1",
        diff_step=STEP / ORIGIN,
        max_nfev=EVALUATIONS,
        xtol=1e-5,
        ftol=1e-5,
    )
    precision = found.jac.T @ found.jac
    covariance[np.ix_(places, places)] = np.linalg.inv(precision + 1e-9 * np.eye(len(places)))
    centre = start.copy()
    centre[places] = found.x - ORIGIN
    return centre, covariance


def is_identifiable(fit: EpisodeRuns, centre: Scores, index: int) -> bool:
    """Return whether the likelihood depends on a parameter near these scores."""
    here = fit.run(fit.priors.values(centre))[0]
    for step in (-SENSITIVITY_STEP, SENSITIVITY_STEP):
        moved = centre.copy()
        moved[index] += step
        if abs(fit.run(fit.priors.values(moved))[0] - here) >= SENSITIVITY_MIN:
            return True
    return False
