"""Intervals of a mean or a share over episodes: a bootstrap over tasks, then tries; Wilson's for flags.

Episodes of one task are correlated, and identical episodes count as one try. So a resample
draws as many tasks as there are, and for each of them as many tries as it has distinct ones.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import gcd, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Key = tuple[Hashable, Hashable]
"""The task of an episode, and a value shared by identical episodes; None: the episode is unique."""
Floats = NDArray[np.float64]
_CHUNK = 1_000_000


@dataclass(frozen=True)
class Tries:
    """The distinct tries of one task.

    Attributes:
        parts, wholes: of each try, the means over its identical episodes.
        copies: how many episodes each try stands for.
    """

    parts: Floats
    wholes: Floats
    copies: NDArray[np.int64]

    @property
    def episodes(self) -> int:
        """The number of episodes."""
        return int(self.copies.sum())

    @property
    def part(self) -> float:
        """The sum of the parts over all episodes."""
        return float((self.parts * self.copies).sum())

    @property
    def whole(self) -> float:
        """The sum of the wholes over all episodes."""
        return float((self.wholes * self.copies).sum())


def tries_by_task(parts: Sequence[float], wholes: Sequence[float], keys: Sequence[Key] | None) -> list[Tries]:
    """Group episodes into the distinct tries of each task; without keys all are distinct, and of one task."""
    tasks: dict[Hashable, dict[Hashable, list[tuple[float, float]]]] = {}
    for place, pair in enumerate(zip(parts, wholes, strict=True)):
        task, same = (None, None) if keys is None else keys[place]
        own = tasks.setdefault(task, {})
        own.setdefault((place,) if same is None else same, []).append(pair)
    return [
        Tries(
            parts=np.array([sum(part for part, _ in same) / len(same) for same in own.values()]),
            wholes=np.array([sum(whole for _, whole in same) / len(same) for same in own.values()]),
            copies=np.array([len(same) for same in own.values()]),
        )
        for own in tasks.values()
    ]


def distinct(tasks: Iterable[Tries]) -> int:
    """Count the distinct tries."""
    return sum(len(own.parts) for own in tasks)


def ratio(tasks: Sequence[Tries]) -> float:
    """Return the sum of the parts over the sum of the wholes, over all episodes."""
    return sum(own.part for own in tasks) / sum(own.whole for own in tasks)


def standard_error(tasks: Sequence[Tries]) -> float | None:
    """Return the standard error of the ratio, from its spread over the tasks, and at least that over all
    tries.

    A few tasks may be equal by chance, which must not shrink the error below that of their tries. None for a
    single try. With one try a task it is the sample's standard deviation over the root of their number.
    """
    pooled = Tries(
        parts=np.concatenate([own.parts for own in tasks]),
        wholes=np.concatenate([own.wholes for own in tasks]),
        copies=np.concatenate([own.copies for own in tasks]),
    )
    found = [
        sqrt(len(residuals) / (len(residuals) - 1) * float((residuals**2).sum()))
        for residuals in (_residuals(tasks), _residuals([pooled]))
        if len(residuals) > 1
    ]
    return max(found, default=None)


def bootstrap(
    tasks: Sequence[Tries], *, seed: int, resamples: int, level: float
) -> tuple[float, float] | None:
    """Return the percentile interval of the ratio (Efron), drawing tasks, then tries; None for a single try.

    A resample draws each try as often as there are distinct ones, from all episodes: so a repetition changes
    nothing, and a try that came up often weighs as much as in the mean.
    """
    if distinct(tasks) < 2:
        return None
    rng = np.random.default_rng(seed)
    picks = rng.integers(0, len(tasks), (resamples, len(tasks)))
    part, whole = np.zeros(resamples), np.zeros(resamples)
    # One stable sort of small integers finds the resamples of every task, in their order.
    drawn = picks.ravel().astype(np.min_scalar_type(len(tasks)))
    ends = np.cumsum(np.bincount(drawn, minlength=len(tasks)))[:-1]
    resamples_of = np.split(np.argsort(drawn, kind="stable") // len(tasks), ends)
    for own, rows in zip(tasks, resamples_of, strict=True):
        drawn_parts, drawn_wholes = _drawn(own, len(rows), rng)
        np.add.at(part, rows, drawn_parts * own.episodes)
        np.add.at(whole, rows, drawn_wholes * own.episodes)
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(part / whole, [tail, 1.0 - tail])
    return float(low), float(high)


def flag_interval(tasks: Sequence[Tries], level: float) -> tuple[float, float]:
    """Return Wilson's interval of a share of yes and no, with the number of tries that the episodes are
    worth.

    That is the number of distinct tries of a single task, and fewer where tries of one task are alike (the
    effective sample size of cluster samples). Where all values are equal their correlation is unknown: then
    it is the number of tasks.
    """
    share, most = ratio(tasks), float(distinct(tasks))
    if len(tasks) == 1:
        return wilson(share, most, level)
    between = float((_residuals(tasks) ** 2).sum())
    if 0.0 < share < 1.0:
        worth = share * (1.0 - share) / between if between else most
    else:
        weights = np.array([own.whole for own in tasks])
        worth = float(weights.sum() ** 2 / (weights**2).sum())
    return wilson(share, min(worth, most), level)


def wilson(share: float, tries: float, level: float) -> tuple[float, float]:
    """Return Wilson's score interval of a share over `tries` independent tries."""
    z = NormalDist().inv_cdf(0.5 + level / 2.0)
    scale = 1.0 + z * z / tries
    middle = (share + z * z / (2.0 * tries)) / scale
    half = z / scale * sqrt(share * (1.0 - share) / tries + z * z / (4.0 * tries * tries))
    # At 0 and 1 the bound is exact, and rounding must not push it inside.
    low = 0.0 if share == 0.0 else max(0.0, middle - half)
    return low, 1.0 if share == 1.0 else min(1.0, middle + half)


def _residuals(tasks: Sequence[Tries]) -> Floats:
    """Return the influence of each task, or of each single task's try, on the ratio (linearised)."""
    value, whole = ratio(tasks), sum(own.whole for own in tasks)
    if len(tasks) > 1:
        return np.array([(own.part - value * own.whole) / whole for own in tasks])
    (own,) = tasks
    # Each try is weighted by its share of the episodes.
    count, mean_whole = len(own.parts), whole / own.episodes
    shares = own.copies / own.episodes
    spread = np.sqrt(shares / count) * (own.parts - value * own.wholes) / mean_whole
    return np.asarray(spread, dtype=float)


def _drawn(own: Tries, count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return the means of parts and wholes of `count` resamples of one task's tries, drawn in batches."""
    tries = len(own.parts)
    if tries == 1:
        return np.full(count, own.parts[0]), np.full(count, own.wholes[0])
    # The draws are the same if everything was run twice.
    places = np.repeat(np.arange(tries), own.copies // gcd(*own.copies.tolist()))
    rows = max(1, _CHUNK // tries)
    parts, wholes = np.empty(count), np.empty(count)
    for first in range(0, count, rows):
        chosen = places[rng.integers(0, len(places), (min(rows, count - first), tries))]
        parts[first : first + rows] = own.parts[chosen].mean(axis=1)
        wholes[first : first + rows] = own.wholes[chosen].mean(axis=1)
    return parts, wholes
