"""Scores as a vector: the Pareto front over agents, and the gated minimum as an optional aggregate."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import TypeVar

from core_eval.text.values import is_number

Name = TypeVar("Name", bound=Hashable)


def dominates(
    one: Mapping[str, float | None],
    other: Mapping[str, float | None],
    lower_is_better: Collection[str],
) -> bool:
    """Return whether one vector is never worse than the other and better at least once.

    `lower_is_better` names the metrics of which less is better; of all others more is.
    Metrics that are not defined in both are not compared; vectors that share none do not dominate each other.
    """
    better = False
    for name, value in one.items():
        rival = other.get(name)
        if value is None or rival is None:
            continue
        if name in lower_is_better:
            value, rival = -value, -rival
        if value < rival:
            return False
        better = better or value > rival
    return better


def pareto_front(
    vectors: Mapping[Name, Mapping[str, float | None]],
    lower_is_better: Collection[str],
) -> list[Name]:
    """Return the names of the vectors that no other one dominates, in the order given."""
    return [
        name
        for name, vector in vectors.items()
        if not any(dominates(rival, vector, lower_is_better) for rival in vectors.values())
    ]


def gated_minimum(
    scores: Mapping[str, float | None], weights: Mapping[str, float], critical: Collection[str]
) -> float | None:
    """Return the weighted mean of scores (0 to 1, higher is better), capped by the lowest critical one.

    Undefined scores are left out of the mean, and so of the cap; None where none of the weighted ones is
    defined. Raises ValueError for a weight that is no number or below 0, weights that are all 0, or a
    name that is no score.
    """
    for name in (*weights, *critical):
        if name not in scores:
            raise ValueError(f"{name!r} is not a score; the scores are {', '.join(scores)}")
    for name, weight in weights.items():
        if not is_number(weight) or weight < 0:
            raise ValueError(f"the weight of {name!r} must be a number, 0 or more, not {weight!r}")
    if not any(weights.values()):
        raise ValueError("at least one weight must be above 0")
    defined = [(weight, value) for name, weight in weights.items() if (value := scores[name]) is not None]
    total = sum(weight for weight, _ in defined)
    if not total:
        return None
    mean = sum(weight * value for weight, value in defined) / total
    return min([mean, *(value for name in critical if (value := scores[name]) is not None)])
