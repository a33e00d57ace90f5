"""Statistics of repeated episodes: mean, standard error, bootstrap interval, quantiles and pass^k."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb, sqrt

import numpy as np

QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
_CHUNK = 1_000_000


@dataclass(frozen=True)
class Summary:
    """One metric over repeated episodes.

    Attributes:
        episodes: how many there were. defined: how many of them have a value; only these count in the
        rest. mean: None where no value is defined. standard_error: of the mean, from the sample's
        variance; None for fewer than two values. low, high: the bootstrap interval of the mean (Efron's
        percentile method); None where no value is defined. quantiles: `(q, value)` by linear
        interpolation.
    """

    episodes: int
    defined: int
    mean: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    quantiles: tuple[tuple[float, float], ...]


def summarize(
    values: Iterable[float | None],
    *,
    seed: int = 0,
    resamples: int = 2000,
    level: float = 0.95,
    quantiles: Sequence[float] = QUANTILES,
) -> Summary:
    """Summarise the values of one metric; None is an episode in which the metric is undefined.

    The interval is the same for the same values and seed. Raises ValueError when `level` is not between 0
    and 1 or there are no resamples.
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must be between 0 and 1, not {level}")
    if resamples < 1:
        raise ValueError(f"resamples must be 1 or more, not {resamples}")
    given = list(values)
    known = np.array([value for value in given if value is not None], dtype=float)
    if not len(known):
        return Summary(len(given), 0, None, None, None, None, ())
    error = float(known.std(ddof=1)) / sqrt(len(known)) if len(known) > 1 else None
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(_resampled_means(known, seed, resamples), [tail, 1.0 - tail])
    cuts = np.quantile(known, list(quantiles))
    return Summary(
        episodes=len(given),
        defined=len(known),
        mean=float(known.mean()),
        standard_error=error,
        low=float(low),
        high=float(high),
        quantiles=tuple((float(q), float(cut)) for q, cut in zip(quantiles, cuts, strict=True)),
    )


@dataclass(frozen=True)
class Share:
    """A share over groups of unequal size: `low` and `high` bound it; all None where there is nothing."""

    value: float | None
    low: float | None = None
    high: float | None = None


def share_of_sums(
    groups: Iterable[tuple[int, int]], *, seed: int = 0, resamples: int = 2000, level: float = 0.95
) -> Share:
    """Sum of the parts over sum of the wholes, with a bootstrap interval that draws whole groups.

    `groups` holds `(part, whole)`, such as an episode's unobserved harm events and all of them: the events of
    one episode hang together, so episodes are drawn and not events (Efron's percentile method). The interval
    is the same for the same groups and seed.
    """
    counted = np.array([group for group in groups if group[1]], dtype=float).reshape(-1, 2)
    if not len(counted):
        return Share(None)
    rng = np.random.default_rng(seed)
    shares: list[np.ndarray] = []
    rows = max(1, _CHUNK // len(counted))
    for first in range(0, resamples, rows):
        count = min(rows, resamples - first)
        sums = counted[rng.integers(0, len(counted), (count, len(counted)))].sum(axis=1)
        shares.append(sums[:, 0] / sums[:, 1])
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(np.concatenate(shares), [tail, 1.0 - tail])
    part, whole = counted.sum(axis=0)
    return Share(float(part / whole), float(low), float(high))


def _resampled_means(values: np.ndarray, seed: int, resamples: int) -> np.ndarray:
    """Draw samples with replacement, a bounded number of values at a time, and give their means."""
    rng = np.random.default_rng(seed)
    rows = max(1, _CHUNK // len(values))
    means = []
    for first in range(0, resamples, rows):
        count = min(rows, resamples - first)
        means.append(values[rng.integers(0, len(values), (count, len(values)))].mean(axis=1))
    return np.concatenate(means)


def pass_hat_k(tries: Iterable[tuple[int, int]], k: int) -> float | None:
    """Give pass^k, the chance that all of `k` tries of a task succeed, averaged over tasks.

    `tries` holds `(successes, tries)` of each task; a task with fewer than `k` tries is left out, and
    None is given when that leaves none. The estimate is unbiased: `C(successes, k) / C(tries, k)`. Raises
    ValueError for `k` below 1 or more successes than tries.
    """
    if k < 1:
        raise ValueError(f"k must be 1 or more, not {k}")
    chances = []
    for successes, total in tries:
        if not 0 <= successes <= total:
            raise ValueError(f"{successes} successes of {total} tries cannot be")
        if total >= k:
            chances.append(comb(successes, k) / comb(total, k))
    return sum(chances) / len(chances) if chances else None
