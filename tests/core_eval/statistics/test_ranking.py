"""ROC and PR of a score against failures: areas by plain counting, and their intervals by simulation."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from core_eval.statistics.ranking import auc_with_interval, ranking


def plain_auc(scores: list[float], failed: list[bool]) -> float:
    bad = [score for score, one in zip(scores, failed, strict=True) if one]
    good = [score for score, one in zip(scores, failed, strict=True) if not one]
    return sum((a > b) + (a == b) / 2 for a, b in product(bad, good)) / len(bad) / len(good)


def plain_precision(scores: list[float], failed: list[bool]) -> float:
    """Return the mean precision over failures, each at the threshold of its own score."""
    found = []
    for score, one in zip(scores, failed, strict=True):
        if one:
            above = [other for value, other in zip(scores, failed, strict=True) if value >= score]
            found.append(sum(above) / len(above))
    return sum(found) / len(found)


@pytest.mark.parametrize("seed", range(20))
def test_the_areas_are_those_of_plain_counting(seed: int) -> None:
    chance = np.random.default_rng(seed)
    scores = [float(value) for value in chance.integers(0, 6, 30)]
    failed = [bool(value) for value in chance.random(30) < 0.3] + [True]
    scores.append(3.0)
    found = ranking(scores, failed, range(31), 0.95)
    assert found is not None
    assert found.auc == pytest.approx(plain_auc(scores, failed))
    assert found.average_precision == pytest.approx(plain_precision(scores, failed))
    assert found.auc_interval[0] <= found.auc <= found.auc_interval[1]
    assert found.points[-1][:2] == (1.0, 1.0)


def test_a_known_case() -> None:
    found = ranking([3, 2, 2, 1], [True, True, False, False], "abcd", 0.95)
    assert found is not None
    assert found.auc == 0.875 and found.average_precision == pytest.approx(0.5 + 0.5 * 2 / 3)
    assert found.points == (
        (0.0, 0.5, 1.0),
        (0.5, 1.0, pytest.approx(2 / 3)),
        (1.0, 1.0, 0.5),
    )


def test_there_is_none_where_none_or_all_failed() -> None:
    assert ranking([1, 2], [True, True], "ab", 0.95) is None
    assert ranking([1, 2], [False, False], "ab", 0.95) is None


def test_a_perfect_ranking_still_has_an_interval() -> None:
    found = ranking([2, 2, 1, 1, 1], [True, True, False, False, False], range(5), 0.95)
    assert found is not None and found.auc == 1.0
    assert found.auc_interval[0] < 0.6 and found.auc_interval[1] == 1.0


@pytest.mark.parametrize("size", [1, 4])
def test_the_interval_holds_the_true_area_also_for_tries_in_groups(size: int) -> None:
    """A score that is shifted by a group and by failure; the true area is that of two normal draws."""
    chance = np.random.default_rng(3)
    held, draws = 0, 150
    for _ in range(draws):
        groups = np.repeat(np.arange(40), size)
        failed = chance.random(len(groups)) < 0.4
        scores = chance.normal(size=40)[groups] + chance.normal(size=len(groups)) + failed * 1.0
        _, (low, high) = auc_with_interval(scores, failed, groups.tolist(), 0.95)
        # The difference of two tries of different groups has the variance 4.
        held += low <= 0.6915 <= high
    assert held / draws > 0.88


def test_tries_of_a_group_that_are_alike_tell_no_more_than_one() -> None:
    chance = np.random.default_rng(4)
    scores, failed = chance.normal(size=30), chance.random(30) < 0.4
    once = ranking(scores, failed, range(30), 0.95)
    fourfold = ranking(np.repeat(scores, 4), np.repeat(failed, 4), np.repeat(range(30), 4).tolist(), 0.95)
    assert once is not None and fourfold is not None
    assert fourfold.auc_interval == pytest.approx(once.auc_interval)
    assert fourfold.average_precision_interval == pytest.approx(once.average_precision_interval)
