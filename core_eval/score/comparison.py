"""Two agents compared: the difference of each metric, paired by task, seed and initial state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from core_eval.log import EpisodeRow
from core_eval.score.episodes import counted
from core_eval.score.metrics import BY_NAME, METRICS
from core_eval.score.repeated import by_agent
from core_eval.statistics.estimates import ALPHA, Estimate, holm, summarize
from core_eval.statistics.intervals import Key
from core_eval.text.values import value_key

Start = tuple[str, int, str]
"""The common start of a pair: task, seed, and overrides of the world's initial state."""


@dataclass(frozen=True)
class Comparison:
    """The first agent minus the second.

    Attributes:
        first, second: the agents.
        pairs: how many starts both had.
        differences: of each metric the paired differences; only starts where both have it count.
    """

    first: str
    second: str
    pairs: int
    differences: Mapping[str, Estimate]


def comparisons(episodes: Sequence[EpisodeRow], metrics: Sequence[str] | None = None) -> list[Comparison]:
    """Return every two agents that had a start in common, in the order in which they first acted.

    Episodes of one agent from the same start are averaged; identical pairs are one.
    """
    starts = {agent: by_start(counted(rows)) for agent, rows in by_agent(episodes).items()}
    names = [metric.name for metric in METRICS] if metrics is None else metrics
    return [
        _compare(first, second, starts[first], starts[second], names)
        for first, second in combinations(starts, 2)
        if starts[first].keys() & starts[second].keys()
    ]


def paired_difference(name: str, values: Iterable[float | None], keys: Sequence[Key]) -> Estimate:
    """Return the mean of a metric's paired differences; `keys` hold the task of each pair and what identical
    ones share.
    """
    return summarize(values, keys, limits=BY_NAME[name].difference_limits, quantiles=())


def corrected(page: Sequence[Mapping[str, Estimate]]) -> list[dict[str, Estimate]]:
    """Return all differences that are shown together with their p-values, corrected for their number (Holm).

    A metric that differs in no pair is no test, and needs three tasks or tries.
    """
    tested = [
        (place, name, p)
        for place, differences in enumerate(page)
        for name, one in differences.items()
        if (p := one.p_value()) is not None and (one.mean or one.standard_error)
    ]
    found = [dict(differences) for differences in page]
    for (place, name, _), p in zip(tested, holm([p for *_, p in tested]), strict=True):
        one = found[place][name]
        found[place][name] = replace(one, p=p, detectable=one.least_told(ALPHA / len(tested)))
    return found


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison with the metrics that at least one pair has."""
    return {
        "agents": [comparison.first, comparison.second],
        "pairs": comparison.pairs,
        "differences": {
            name: difference_json(summary)
            for name, summary in comparison.differences.items()
            if summary.defined
        },
    }


def difference_json(difference: Estimate) -> dict[str, Any]:
    """Return a difference with its interval and the p-value of its t test, JSON-ready."""
    told = difference.as_json()
    del told["quantiles"], told["inexact"]
    return {
        "pairs": told.pop("defined"),
        "difference": told.pop("mean"),
        **told,
        "p": difference.p_value(),
        "effect_size": difference.effect_size(),
    }


def by_start(episodes: Sequence[EpisodeRow]) -> dict[Start, list[EpisodeRow]]:
    """Return the episodes by their starts."""
    found: dict[Start, list[EpisodeRow]] = {}
    for row in episodes:
        start = row.task, row.seed, value_key(row.init)
        found.setdefault(start, []).append(row)
    return found


def _compare(
    first: str,
    second: str,
    own: Mapping[Start, Sequence[EpisodeRow]],
    other: Mapping[Start, Sequence[EpisodeRow]],
    metrics: Sequence[str],
) -> Comparison:
    shared = [start for start in own if start in other]
    keys = [(own[start][0].template, pair_identity([*own[start], *other[start]])) for start in shared]
    differences = {}
    for name in metrics:
        values = (_difference(mean_of(own[start], name), mean_of(other[start], name)) for start in shared)
        differences[name] = paired_difference(name, values, keys)
    return Comparison(first, second, len(shared), differences)


def pair_identity(rows: Sequence[EpisodeRow]) -> frozenset[str] | None:
    """Return what a pair of identical episodes shares with others of their kind; None where it is like no
    other.
    """
    prints = [row.fingerprint for row in rows if row.fingerprint is not None]
    return frozenset(prints) if len(prints) == len(rows) else None


def mean_of(rows: Sequence[EpisodeRow], metric: str) -> float | None:
    """Return the mean of a metric over the episodes that have it; None where none has."""
    values = [value for row in rows if (value := row.scores.get(metric)) is not None]
    return sum(values) / len(values) if values else None


def _difference(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first - second
