"""Statistics of repeated episodes: mean, standard error, interval, quantiles, shares and pass^k."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb, isfinite

import numpy as np

from core_eval.path.intervals import (
    Key,
    bootstrap,
    distinct,
    flag_interval,
    ratio,
    standard_error,
    tries_by_task,
)

QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
LEVEL = 0.95
"""Of every interval."""
RESAMPLES = 2000


@dataclass(frozen=True)
class Summary:
    """One metric over repeated episodes.

    Attributes:
        episodes: how many there were.
        defined: how many of them have a value; only these count in the rest.
        distinct: how many different tries those are; identical episodes are one.
        mean: over the defined episodes; None where there is none.
        standard_error: of the mean; None for fewer than two tries.
        low, high: the interval of the mean; None for fewer than two tries (of a flag: for none).
        quantiles: `(q, value)` by linear interpolation.
    """

    episodes: int
    defined: int
    distinct: int
    mean: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    quantiles: tuple[tuple[float, float], ...]


def summarize(
    values: Iterable[float | None],
    keys: Sequence[Key] | None = None,
    *,
    flag: bool = False,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Summary:
    """Summarise the values of one metric; None stands for an episode where the metric is undefined.

    `keys` holds the task of each episode and what identical ones share; without them all are distinct tries
    of one task. A `flag`, with values 0 and 1, gets Wilson's interval; other metrics a bootstrap that draws
    tasks, then tries. The interval is the same for the same values, keys and seed. Raises ValueError where
    there are no resamples.
    """
    if resamples < 1:
        raise ValueError(f"resamples must be 1 or more, not {resamples}")
    given = list(values)
    # A damaged log may hold an infinite time, which must not enter a statistic.
    places = [place for place, value in enumerate(given) if value is not None and isfinite(value)]
    known = [value for value in given if value is not None and isfinite(value)]
    if not known:
        return Summary(len(given), 0, 0, None, None, None, None, ())
    tasks = tries_by_task(
        known, [1.0] * len(known), None if keys is None else [keys[place] for place in places]
    )
    interval = (
        flag_interval(tasks, LEVEL)
        if flag
        else bootstrap(tasks, seed=seed, resamples=resamples, level=LEVEL) or (None, None)
    )
    cuts = np.quantile(known, QUANTILES)
    return Summary(
        episodes=len(given),
        defined=len(known),
        distinct=distinct(tasks),
        mean=ratio(tasks),
        standard_error=standard_error(tasks),
        low=interval[0],
        high=interval[1],
        quantiles=tuple((float(q), float(cut)) for q, cut in zip(QUANTILES, cuts, strict=True)),
    )


@dataclass(frozen=True)
class Share:
    """A share over groups of unequal size; None where there are none.

    `low` and `high` bound it; None for a single try, which has no spread.
    """

    value: float | None
    low: float | None = None
    high: float | None = None


def share_of_sums(
    groups: Iterable[tuple[int, int]],
    keys: Iterable[Key] | None = None,
) -> Share:
    """Return the sum of the parts over the sum of the wholes, with an interval that resamples groups.

    `groups` holds `(part, whole)`, such as an episode's unobserved harm events and all of them: the events of
    one episode are correlated, so episodes are resampled and not events; `keys` as in `summarize`. A share of
    0 or 1 gets Wilson's interval, since its resamples are all alike. The interval is the same for the same
    groups and keys.
    """
    given = list(groups)
    all_keys = None if keys is None else list(keys)
    places = [place for place, (_, whole) in enumerate(given) if whole]
    if not places:
        return Share(None)
    tasks = tries_by_task(
        [float(given[place][0]) for place in places],
        [float(given[place][1]) for place in places],
        None if all_keys is None else [all_keys[place] for place in places],
    )
    value = ratio(tasks)
    if value in (0.0, 1.0):
        return Share(value, *flag_interval(tasks, LEVEL))
    return Share(value, *(bootstrap(tasks, seed=0, resamples=RESAMPLES, level=LEVEL) or (None, None)))


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
