"""How well a score ranks failed tries before the others: the curves ROC and PR, and the areas below them.

The area below the ROC curve is the chance that a failed try has a larger score than another, ties counting
half. Its variance is DeLong's (1988), with tries in groups as in Obuchowski (1997), Biometrics 53, 567. The
area below the PR curve is the average precision; its interval is by a bootstrap of whole groups.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from core_eval.statistics.intervals import wilson

DRAWS = 400
"""Bootstrap draws."""
SEED = 7
MOST_POINTS = 100
"""Points of a curve that are kept."""
Floats = NDArray[np.float64]
Interval = tuple[float, float]


@dataclass(frozen=True)
class Ranking:
    """How well a score ranks.

    Attributes:
        tries, failed: how many there are, and how many of them failed.
        auc, average_precision: the areas, each with its interval.
        points: of thresholds from the highest: false-alarm rate, recall, precision.
    """

    tries: int
    failed: int
    auc: float
    auc_interval: Interval
    average_precision: float
    average_precision_interval: Interval
    points: tuple[tuple[float, float, float], ...]


def ranking(
    scores: Sequence[float], failed: Sequence[bool], groups: Sequence[Hashable], level: float
) -> Ranking | None:
    """Return how well scores rank failed tries first; None where none or all failed.

    Args:
        scores: larger where a failure is more likely.
        failed: whether each try failed.
        groups: what tries share that are not independent, such as their task.
        level: of the intervals.
    """
    values, is_failed = np.asarray(scores, dtype=float), np.asarray(failed, dtype=bool)
    if not is_failed.any() or is_failed.all():
        return None
    auc, interval = auc_with_interval(values, is_failed, groups, level)
    return Ranking(
        len(values),
        int(is_failed.sum()),
        auc,
        interval,
        _average_precision(values, is_failed),
        _bootstrap(values, is_failed, _members(groups), level),
        _points(values, is_failed),
    )


def auc_with_interval(
    values: Floats, failed: NDArray[np.bool_], groups: Sequence[Hashable], level: float
) -> tuple[float, Interval]:
    """Return the area below the ROC curve, with its interval; arguments as those of `ranking`."""
    auc, error = _auc(values, failed, _members(groups))
    return auc, _auc_interval(auc, error, min(int(failed.sum()), int((~failed).sum())), level)


def _members(groups: Sequence[Hashable]) -> list[NDArray[np.intp]]:
    places: dict[Hashable, list[int]] = {}
    for place, group in enumerate(groups):
        places.setdefault(group, []).append(place)
    return [np.array(ones, dtype=np.intp) for ones in places.values()]


def _auc(
    values: Floats, failed: NDArray[np.bool_], members: Sequence[NDArray[np.intp]]
) -> tuple[float, float]:
    """Return the area below the ROC curve and its standard error."""
    bad, good = values[failed], values[~failed]
    ordered_bad, ordered_good = np.sort(bad), np.sort(good)
    # Of each try the share of the other kind that it is ranked right against.
    of_bad = (np.searchsorted(ordered_good, bad, "left") + np.searchsorted(ordered_good, bad, "right")) / (
        2 * len(good)
    )
    above = np.searchsorted(ordered_bad, good, "left") + np.searchsorted(ordered_bad, good, "right")
    of_good = 1.0 - above / (2 * len(bad))
    auc = float(of_bad.mean())
    parts = np.zeros(len(values))
    parts[failed], parts[~failed] = of_bad - auc, of_good - auc
    sums = np.array([[parts[ones][failed[ones]].sum(), parts[ones][~failed[ones]].sum()] for ones in members])
    has = np.array([[failed[ones].any(), (~failed[ones]).any()] for ones in members])
    total = len(members)
    if total < 2 or min(has.sum(axis=0)) < 2:
        return auc, float("nan")
    counts = np.array([len(bad), len(good)])
    scale = has.sum(axis=0) / (has.sum(axis=0) - 1) / counts**2
    variance = float((sums**2).sum(axis=0) @ scale)
    both = total / (total - 1) / (counts[0] * counts[1])
    variance += 2 * both * float((sums[:, 0] * sums[:, 1]).sum())
    return auc, max(0.0, variance) ** 0.5


def _auc_interval(auc: float, error: float, tries: int, level: float) -> Interval:
    """Return the interval by the logit, which stays within 0 and 1; by Wilson where there is no spread."""
    if not error > 0 or auc in (0.0, 1.0):
        return wilson(auc, tries, level)
    z = NormalDist().inv_cdf(0.5 + level / 2)
    logit, half = float(np.log(auc / (1 - auc))), z * error / (auc * (1 - auc))
    low, high = (float(1 / (1 + np.exp(-(logit + side)))) for side in (-half, half))
    return low, high


def _average_precision(values: Floats, failed: NDArray[np.bool_]) -> float:
    recall, precision = _steps(values, failed)[1:]
    return float(np.diff(recall, prepend=0.0) @ precision)


def _steps(values: Floats, failed: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
    """Return false-alarm rate, recall and precision at each threshold, from the highest."""
    order = np.argsort(-values, kind="stable")
    ends = np.flatnonzero(np.diff(values[order], append=np.inf))
    hits = np.cumsum(failed[order])[ends]
    return (
        (ends + 1 - hits) / max(1, int((~failed).sum())),
        hits / max(1, int(failed.sum())),
        hits / (ends + 1),
    )


def _points(values: Floats, failed: NDArray[np.bool_]) -> tuple[tuple[float, float, float], ...]:
    alarms, recall, precision = _steps(values, failed)
    chosen = np.unique(np.linspace(0, len(alarms) - 1, MOST_POINTS).astype(int))
    return tuple((float(alarms[at]), float(recall[at]), float(precision[at])) for at in chosen)


def _bootstrap(
    values: Floats, failed: NDArray[np.bool_], members: Sequence[NDArray[np.intp]], level: float
) -> Interval:
    chance = np.random.default_rng(SEED)
    found = []
    for _ in range(DRAWS):
        drawn = np.concatenate([members[at] for at in chance.integers(0, len(members), len(members))])
        if failed[drawn].any():
            found.append(_average_precision(values[drawn], failed[drawn]))
    low, high = np.quantile(found, [0.5 - level / 2, 0.5 + level / 2])
    return float(low), float(high)
