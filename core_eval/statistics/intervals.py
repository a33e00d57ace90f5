"""The mean of correlated episodes, its standard error, and its interval.

Episodes of one task are correlated, and identical episodes are one try. So the units that count are tasks; of
a single task, its distinct tries. Standard errors are clustered by unit (Miller, arXiv 2411.00640), and
intervals use Student's t with one degree of freedom less than there are units.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core_eval.statistics.student_t import quantile

Key = tuple[Hashable, Hashable]
"""The task of an episode, and a value shared by identical episodes; None: the episode is unique."""
Floats = NDArray[np.float64]
Limits = tuple[float | None, float | None]
"""The least and the greatest possible value; None: none."""
ROUNDING = 1e-12
"""Relative: what differs by less is equal."""


@dataclass(frozen=True)
class Groups:
    """The number of each episode's task, and that of its try; identical episodes share it.

    `times` is for how many identical episodes each stands; None: for one.
    """

    tasks: NDArray[np.int64]
    tries: NDArray[np.int64]
    times: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, keys: Sequence[Key]) -> Groups:
        """Return the groups of some episodes."""
        tasks: dict[Hashable, int] = {}
        tries: dict[Hashable, int] = {}
        rows = [
            (
                tasks.setdefault(task, len(tasks)),
                tries.setdefault((place,) if same is None else (task, same, ""), len(tries)),
            )
            for place, (task, same) in enumerate(keys)
        ]
        found = np.array(rows, dtype=np.int64).reshape(-1, 2)
        return cls(found[:, 0], found[:, 1])

    @classmethod
    def alone(cls, count: int) -> Groups:
        """Return the groups of episodes of one task that are all distinct."""
        return cls(np.zeros(count, dtype=np.int64), np.arange(count))

    def only(self, chosen: NDArray[np.bool_]) -> Groups:
        """Return those of some of the episodes."""
        if chosen.all():
            return self
        times = None if self.times is None else self.times[chosen]
        return Groups(self.tasks[chosen], self.tries[chosen], times)

    @property
    def count(self) -> int:
        """How many episodes there are."""
        return len(self.tasks) if self.times is None else int(self.times.sum())

    @cached_property
    def dense(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Tasks and tries, numbered without gaps."""
        return _without_gaps(self.tasks), _without_gaps(self.tries)


def _without_gaps(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    # No number is much above how many there are, so counting takes less than sorting.
    found: NDArray[np.int64] = (np.cumsum(np.bincount(numbers) > 0) - 1)[numbers]
    return found


@dataclass(frozen=True)
class Mean:
    """The sum of parts over the sum of wholes.

    Attributes:
        value: the ratio.
        error: its standard error, linearised; None for a single unit, 0 where all units are equal.
        units: how many tasks there are; of a single task, how many distinct tries.
        distinct: how many distinct tries there are.
        worth: how many units of equal weight these are worth.
    """

    value: float
    error: float | None
    units: int
    distinct: int
    worth: float

    @classmethod
    def of(cls, parts: Floats, wholes: Floats, groups: Groups) -> Mean:
        """Return the ratio over at least one episode."""
        whole = float(wholes.sum())
        value = float(parts.sum()) / whole
        gaps = parts - value * wholes
        tasks, tries = groups.dense
        copies = np.bincount(tries, groups.times)
        count = int(tasks.max()) + 1
        equal = ROUNDING * float(np.abs(parts).sum())
        weights = np.bincount(tasks, wholes) if count > 1 else copies
        error = _spread(np.bincount(tasks, gaps), equal) / whole
        if error == 0.0:
            # One task; or tasks that are equal by chance, which are no surer than their tries.
            weighted = np.bincount(tries, gaps) / np.sqrt(copies)
            error = _spread(weighted, equal) / whole * sqrt(groups.count / len(copies))
        units = count if count > 1 else len(copies)
        return cls(
            value,
            error if units > 1 else None,
            units,
            len(copies),
            float(weights.sum() ** 2 / (weights**2).sum()) if count > 1 else float(len(copies)),
        )

    def interval(self, level: float, limits: Limits, seen: tuple[float, float]) -> tuple[float, float]:
        """Return the interval of a mean of unequal values, the least and greatest of which were `seen`.

        Values that pile up at a limit have a skewed mean, and a t interval ends too early on the side away
        from the limit. So it reaches as far as the t interval or the score interval does, of which the
        variance shrinks towards the limits of the values; 0 is one where no value is beyond it.
        """
        assert self.error, "equal values tell no interval"
        # A damaged log may hold values beyond the limits.
        least = limits[0] if limits[0] is not None and seen[0] >= limits[0] else None
        most = limits[1] if limits[1] is not None and seen[1] <= limits[1] else None
        reach = quantile(0.5 + level / 2.0, self.units - 1) * self.error
        floor = 0.0 if seen[0] >= 0.0 else least
        ceiling = 0.0 if seen[1] <= 0.0 else most
        low, high = _score_interval(self.value, reach, floor, ceiling)
        low, high = min(low, self.value - reach), max(high, self.value + reach)
        return low if least is None else max(low, least), high if most is None else min(high, most)

    def flag_interval(self, level: float) -> tuple[float, float]:
        """Return Wilson's interval of a share of yes and no, with t, and the number of tries that the
        episodes are worth (the effective sample size of cluster samples).

        Where all values are equal their correlation is unknown: then that is the number of tasks.
        """
        assert self.error is not None
        worth = self.worth
        if self.error > 0.0:
            worth = min(self.value * (1.0 - self.value) / self.error**2, float(self.distinct))
        return wilson(self.value, worth, level, df=self.units - 1)


def wilson(share: float, tries: float, level: float, df: int | None = None) -> tuple[float, float]:
    """Return Wilson's score interval of a share over `tries` independent tries; with Student's t instead of
    the normal quantile where `df` is given.
    """
    half_level = 0.5 + level / 2.0
    z = NormalDist().inv_cdf(half_level) if df is None else quantile(half_level, df)
    scale = 1.0 + z * z / tries
    middle = (share + z * z / (2.0 * tries)) / scale
    half = z / scale * sqrt(share * (1.0 - share) / tries + z * z / (4.0 * tries * tries))
    # At 0 and 1 the bound is exact, and rounding must not push it inside.
    low = 0.0 if share == 0.0 else max(0.0, middle - half)
    return low, 1.0 if share == 1.0 else min(1.0, middle + half)


def _score_interval(
    mean: float, reach: float, floor: float | None, ceiling: float | None
) -> tuple[float, float]:
    """Return all m with |mean - m| up to `reach` times the root of V(m) / V(mean).

    V is the variance function of a mean between limits: `(m - floor) (ceiling - m)`, `m - floor`,
    `ceiling - m`, or constant.
    """
    if floor is not None and ceiling is not None:
        width = ceiling - floor
        share = (mean - floor) / width
        worth = share * (1.0 - share) / (reach / width) ** 2
        middle = (share + 0.5 / worth) / (1.0 + 1.0 / worth)
        half = sqrt(share * (1.0 - share) / worth + 0.25 / worth**2) / (1.0 + 1.0 / worth)
        return floor + width * (middle - half), floor + width * (middle + half)
    if floor is None and ceiling is None:
        return mean - reach, mean + reach
    limit = floor if floor is not None else ceiling
    assert limit is not None
    shift = reach**2 / (2.0 * abs(mean - limit))
    half = sqrt(shift * (2.0 * abs(mean - limit) + shift))
    middle = mean + (shift if floor is not None else -shift)
    return middle - half, middle + half


def _spread(gaps: NDArray[Any], equal: float) -> float:
    """Return the root of n / (n - 1) times the sum of the squares of n gaps; 0 where they are equal."""
    if len(gaps) < 2 or float(np.abs(gaps).max()) <= equal:
        return 0.0
    return sqrt(len(gaps) / (len(gaps) - 1) * float((gaps**2).sum()))


def chance_of_so_few(failures: int, tries: int, share: float) -> float:
    """Return the chance of at most so many failures in independent tries, where `share` of all succeed: the
    one-sided p-value of "more than `share` succeed" (Clopper and Pearson, Biometrika 26, 1934).
    """
    return sum(
        comb(tries, lost) * (1.0 - share) ** lost * share ** (tries - lost) for lost in range(failures + 1)
    )


def tries_needed(share: float, alpha: float, failures: int = 0) -> int:
    """Return the fewest tries of which so many failures show at level `alpha` that more than `share` succeed.

    Args:
        share: below 1.
        alpha: the chance of an error.
        failures: that there may be.
    """
    low, high = failures, failures + 1
    while chance_of_so_few(failures, high, share) > alpha:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if chance_of_so_few(failures, middle, share) > alpha else (low, middle)
    return high
