"""Statistics of repeated episodes: means with their intervals, tests of differences, and pass^k."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import comb, nan, sqrt
from typing import Any, Literal

import numpy as np

from core_eval.statistics.intervals import Floats, Groups, Key, Limits, Mean
from core_eval.statistics.student_t import quantile, two_sided

QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
LEVEL = 0.95
"""Of every interval."""
ALPHA = 0.05
"""The chance of one wrong verdict or more among all that are given together."""
POWER = 0.8
FEWEST_UNITS = 3
"""Below this number of tasks, or of tries of a single task, nothing is said of chance."""


@dataclass(frozen=True)
class Estimate:
    """The mean of one metric over repeated episodes, or of its paired differences.

    Attributes:
        episodes: how many there were.
        defined: how many of them have a value; only these count in the rest.
        distinct: how many different tries those are; identical episodes are one.
        units: how many tasks those are of; if it is one task, its distinct tries.
        mean: over the defined episodes; None where there is none.
        standard_error: of the mean, clustered by unit; None for fewer than two units.
        low, high: the interval of the mean; None where `why_none` says why.
        why_none: why there is no interval: no value, fewer than three units, or nothing varies.
        quantiles: `(q, value)` by linear interpolation.
        inexact: how many of the defined values are but lower bounds of the exact ones.
        p: of the test of a difference, corrected for all that are shown together; None where not tested.
        detectable: the smallest true difference that such a test mostly tells; None where it is not known.
    """

    episodes: int = 0
    defined: int = 0
    distinct: int = 0
    units: int = 0
    mean: float | None = None
    standard_error: float | None = None
    low: float | None = None
    high: float | None = None
    why_none: Literal["", "no value", "too few", "all equal"] = "no value"
    quantiles: tuple[tuple[float, float], ...] = ()
    inexact: int = 0
    p: float | None = None
    detectable: float | None = None

    @property
    def degrees_of_freedom(self) -> int:
        """One less than there are units."""
        return max(0, self.units - 1)

    def p_value(self, beyond: float = 0.0) -> float | None:
        """Return how likely a mean so far from zero is where the true one is `beyond` at most, on either
        side: half of it is the one-sided p-value.

        By a t test. Where all units have the same value a t test would be sure; then it is the chance that
        the signs of as many units agree. None for too few units.
        """
        if self.mean is None or self.standard_error is None or self.units < FEWEST_UNITS:
            return None
        excess = abs(self.mean) - beyond
        if excess <= 0.0:
            return 1.0
        if self.standard_error == 0.0:
            return float(2.0 ** (1 - self.units))
        return two_sided(excess / self.standard_error, self.degrees_of_freedom)

    def effect_size(self) -> float | None:
        """Return the mean in standard deviations of its units (Cohen's d of paired differences)."""
        if self.mean is None or not self.standard_error:
            return None
        return self.mean / (self.standard_error * sqrt(self.units))

    def least_told(self, alpha: float = ALPHA, power: float = POWER) -> float | None:
        """Return the smallest true mean that a two-sided t test tells from zero with this power; None where
        the spread is not known.
        """
        if not self.standard_error or self.units < FEWEST_UNITS:
            return None
        return _reach(self.degrees_of_freedom, alpha, power) * self.standard_error

    def as_json(self) -> dict[str, Any]:
        """Return it, JSON-ready."""
        return {
            "defined": self.defined,
            "inexact": self.inexact,
            "distinct": self.distinct,
            "units": self.units,
            "mean": self.mean,
            "standard_error": self.standard_error,
            "interval": None if self.low is None else [self.low, self.high],
            "no_interval": self.why_none or None,
            "quantiles": {f"{q:g}": value for q, value in self.quantiles},
        }


def summarize(
    values: Iterable[float | None] | Floats,
    keys: Sequence[Key] | Groups | None = None,
    *,
    flag: bool = False,
    limits: Limits = (None, None),
    quantiles: Sequence[float] = QUANTILES,
    inexact: int = 0,
) -> Estimate:
    """Summarise the values of one metric; None or NaN stands for an episode where it is undefined.

    `keys` holds the task of each episode and what identical ones share; without them all are distinct tries
    of one task. A `flag`, with values 0 and 1, gets Wilson's interval; `limits` are the least and greatest
    possible value of another metric. `inexact` is how many of the values are but lower bounds.
    """
    given = np.asarray(
        values if isinstance(values, np.ndarray) else [nan if one is None else one for one in values], float
    )
    groups = _groups(keys, len(given))
    # A damaged log may hold an infinite time, which must not enter a statistic.
    known = np.isfinite(given)
    defined, own = given[known], groups.only(known)
    times = np.ones(len(defined)) if own.times is None else own.times.astype(float)
    found = _estimate(defined * times, times, own, groups.count, flag, limits)
    if not len(defined):
        return found
    cuts = _quantiles(defined, times, quantiles) if quantiles else ()
    named = tuple((float(q), float(cut)) for q, cut in zip(quantiles, cuts, strict=True))
    return replace(found, quantiles=named, inexact=inexact)


def _quantiles(values: Floats, times: Floats, quantiles: Sequence[float]) -> Floats:
    """Return quantiles by linear interpolation, as of values that stand there so many times.

    Numpy's own take many times as long where values repeat, and have the same bits.
    """
    order = np.argsort(values)
    ordered, ends = values[order], np.cumsum(times[order])
    places = np.asarray(quantiles) * (ends[-1] - 1.0)
    below = np.floor(places)
    low, high = (
        ordered[np.searchsorted(ends, np.minimum(place, ends[-1] - 1.0), side="right")]
        for place in (below, below + 1.0)
    )
    part = places - below
    found: Floats = np.where(part < 0.5, low + (high - low) * part, high - (high - low) * (1.0 - part))
    return found


def share_of_sums(groups: Iterable[tuple[int, int]], keys: Iterable[Key] | None = None) -> Estimate:
    """Return the sum of the parts over the sum of the wholes, as the mean of an estimate.

    `groups` holds `(part, whole)`, such as an episode's unobserved harm events and all of them: the events of
    one episode are correlated, so episodes are the tries and not events; `keys` as in `summarize`. A share of
    0 or 1 gets Wilson's interval.
    """
    given = np.array(list(groups), float).reshape(-1, 2)
    whole = given[:, 1] > 0
    own = _groups(None if keys is None else list(keys), len(given)).only(whole)
    return _estimate(given[whole, 0], given[whole, 1], own, len(given), False, (0.0, 1.0), ends=True)


def _groups(keys: Sequence[Key] | Groups | None, count: int) -> Groups:
    if isinstance(keys, Groups):
        return keys
    return Groups.alone(count) if keys is None else Groups.of(keys)


def _estimate(
    parts: Floats,
    wholes: Floats,
    groups: Groups,
    episodes: int,
    flag: bool,
    limits: Limits,
    ends: bool = False,
) -> Estimate:
    if not len(parts):
        return Estimate(episodes=episodes)
    mean = Mean.of(parts, wholes, groups)
    found = Estimate(
        episodes, groups.count, mean.distinct, mean.units, mean.value, mean.error, why_none="too few"
    )
    if mean.units < FEWEST_UNITS:
        return found
    if flag or (ends and mean.value in (0.0, 1.0)):
        low, high = mean.flag_interval(LEVEL)
    elif mean.error:
        ratios = parts / wholes
        low, high = mean.interval(LEVEL, limits, (float(ratios.min()), float(ratios.max())))
    else:
        return replace(found, why_none="all equal")
    return replace(found, low=low, high=high, why_none="")


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values corrected for their number (Holm, Scandinavian Journal of Statistics 6, 1979): the
    chance of one or more below a limit, where there is no difference anywhere, is that limit.
    """
    corrected, least = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = least
    return corrected


def units_needed(deviation: float, difference: float, alpha: float = ALPHA, power: float = POWER) -> int:
    """Return how many units tell a true mean of `difference` from zero, where one unit has this standard
    deviation: by a two-sided t test, with this power (0.5 or more).
    """

    def enough(units: int) -> bool:
        return _reach(units - 1, alpha, power) * deviation <= difference * sqrt(units)

    high = FEWEST_UNITS
    while not enough(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return max(high, FEWEST_UNITS)


def _reach(df: int, alpha: float, power: float) -> float:
    """Return how many standard errors a mean must be from zero so that a t test tells it."""
    return quantile(1.0 - alpha / 2.0, df) + quantile(power, df)


def pass_hat_k(tries: Iterable[tuple[int, int]], k: int) -> float | None:
    """Return pass^k, the chance that all of `k` tries of a task succeed, averaged over tasks.

    `tries` holds `(successes, tries)` of each task; a task with fewer than `k` tries is left out, and
    None is given when that leaves none. The estimate is unbiased: `C(successes, k) / C(tries, k)`. Raises
    ValueError for `k` below 1 or more successes than tries.
    """
    if k < 1:
        raise ValueError(f"k must be 1 or more, not {k}")
    chances = []
    for successes, total in tries:
        if not 0 <= successes <= total:
            raise ValueError(f"{successes} successes of {total} tries are impossible")
        if total >= k:
            chances.append(comb(successes, k) / comb(total, k))
    return sum(chances) / len(chances) if chances else None
