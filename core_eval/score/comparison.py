"""Pairs of episodes, by task, seed and initial state, and the differences of their metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from core_eval.log import EpisodeRow
from core_eval.score.metrics import BY_NAME
from core_eval.statistics.estimates import ALPHA, Estimate, holm, summarize
from core_eval.statistics.intervals import Key
from core_eval.text.values import value_key

Start = tuple[str, int, str]
"""The common start of a pair: task, seed, and overrides of the world's initial state."""


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


def pair_identity(*sides: Sequence[EpisodeRow]) -> tuple[tuple[str, ...], ...] | None:
    """Return what episodes that are compared share with others like them, side by side; None where they are
    like no other. The sides have an order: A against B is not B against A, whose difference is the other way.
    """
    prints = [[row.fingerprint for row in rows] for rows in sides]
    known = [sorted(one for one in own if one is not None) for own in prints]
    return tuple(map(tuple, known)) if [*map(len, known)] == [*map(len, prints)] else None


def mean_of(rows: Sequence[EpisodeRow], metric: str) -> float | None:
    """Return the mean of a metric over the episodes that have it; None where none has."""
    values = [value for row in rows if (value := row.scores.get(metric)) is not None]
    return sum(values) / len(values) if values else None
