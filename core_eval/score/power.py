"""How many tasks and tries tell a difference of two agents, by the spread of the episodes in a log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from core_eval.log import EpisodeRow
from core_eval.score.comparison import by_start, mean_of
from core_eval.score.episodes import counted
from core_eval.statistics.estimates import units_needed

TRIES = (1, 3, 5, 10)
"""The numbers of tries of each task that are planned."""


@dataclass(frozen=True)
class PairSpread:
    """The variance of the difference of two tries from the same start.

    Attributes:
        between: that of its mean over tasks; None where there is one task.
        within: that of the tries of a task; None where each task was tried once.
        tasks, pairs: how many it was learned from.
    """

    between: float | None
    within: float | None
    tasks: int
    pairs: int


@dataclass(frozen=True)
class Plan:
    """Episodes of each agent that suffice: `tasks`, with `tries` of each."""

    tries: int
    tasks: int

    @property
    def episodes(self) -> int:
        """The number of episodes of each agent."""
        return self.tasks * self.tries


def spread_of(differences: Iterable[tuple[str, float]]) -> PairSpread:
    """Return the spread of differences with their tasks, by analysis of variance (one way)."""
    tasks: dict[str, list[float]] = {}
    for task, value in differences:
        tasks.setdefault(task, []).append(value)
    own = [np.array(values) for values in tasks.values()]
    pairs = sum(map(len, own))
    repeats = pairs - len(own)
    within = sum(float(((one - one.mean()) ** 2).sum()) for one in own) / repeats if repeats else None
    if len(own) < 2:
        return PairSpread(None, within, len(own), pairs)
    means = float(np.var([one.mean() for one in own], ddof=1))
    by_tries = (within or 0.0) * float(np.mean([1.0 / len(one) for one in own]))
    return PairSpread(max(0.0, means - by_tries), within, len(own), pairs)


def spread_between(first: Sequence[EpisodeRow], second: Sequence[EpisodeRow], metric: str) -> PairSpread:
    """Return the spread of the differences of two agents, over the starts that both had."""
    old, new = by_start(counted(first)), by_start(counted(second))
    return spread_of(
        (old[start][0].template, b - a)
        for start in old
        if start in new
        and (a := mean_of(old[start], metric)) is not None
        and (b := mean_of(new[start], metric)) is not None
    )


def spread_of_itself(episodes: Sequence[EpisodeRow], metric: str) -> PairSpread:
    """Return the spread that an unchanged agent has against itself: its tries differ, its tasks do not.

    Seeds in common make it smaller.
    """
    own = spread_of(
        (row.template, value) for row in counted(episodes) if (value := row.scores.get(metric)) is not None
    )
    if own.within is None:
        return PairSpread(None, None, own.tasks, own.pairs)
    return PairSpread(0.0 if own.tasks > 1 else None, 2.0 * own.within, own.tasks, own.pairs)


def plans(spread: PairSpread, difference: float, alpha: float, power: float) -> list[Plan]:
    """Return what suffices with each number of tries a task; of a single task how many tries of it."""
    if spread.between is None:
        if spread.within is None:
            return []
        return [Plan(units_needed(sqrt(spread.within), difference, alpha, power), 1)]
    if spread.within is None:
        return [Plan(1, units_needed(sqrt(spread.between), difference, alpha, power))]
    return [
        Plan(tries, units_needed(sqrt(spread.between + spread.within / tries), difference, alpha, power))
        for tries in TRIES
    ]
