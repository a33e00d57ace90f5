"""Repeated episodes: mean, error, interval, quantiles, pass^k."""

from __future__ import annotations

from itertools import combinations
from math import sqrt
from random import Random

import pytest

from core_eval.path.statistics import Share, pass_hat_k, share_of_sums, summarize


def test_known_values():
    summary = summarize([1.0, None, 2.0, 3.0, 6.0])
    assert (summary.episodes, summary.defined, summary.mean) == (5, 4, 3.0)
    assert summary.standard_error == pytest.approx(sqrt((4 + 1 + 0 + 9) / 3) / 2)
    assert dict(summary.quantiles) == {0.0: 1.0, 0.25: 1.75, 0.5: 2.5, 0.75: 3.75, 1.0: 6.0}
    assert summary.low < 3.0 < summary.high


def test_nothing_defined_and_one_value():
    empty = summarize([None, None])
    assert (empty.episodes, empty.defined, empty.mean, empty.low, empty.quantiles) == (2, 0, None, None, ())
    one = summarize([0.25])
    assert (one.mean, one.standard_error, one.low, one.high) == (0.25, None, 0.25, 0.25)


def test_the_interval_is_seeded():
    rng = Random(1)
    values = [rng.random() for _ in range(30)]
    assert summarize(values, seed=3) == summarize(values, seed=3)
    assert summarize(values, seed=3) != summarize(values, seed=4)


def test_the_interval_covers_the_mean_as_often_as_it_says():
    rng = Random(5)
    covered = 0
    for seed in range(200):
        values = [rng.gauss(10.0, 2.0) for _ in range(40)]
        summary = summarize(values, seed=seed, resamples=400)
        covered += summary.low <= 10.0 <= summary.high
    assert 0.89 <= covered / 200 <= 0.99


@pytest.mark.parametrize("options", [{"level": 0.0}, {"level": 1.0}, {"resamples": 0}])
def test_bad_options(options):
    with pytest.raises(ValueError, match="must be"):
        summarize([1.0], **options)


@pytest.mark.parametrize(("successes", "total", "k"), [(3, 5, 1), (3, 5, 2), (5, 5, 5), (2, 6, 3), (0, 4, 1)])
def test_pass_hat_k_counts_the_draws_that_all_succeed(successes, total, k):
    tries = [True] * successes + [False] * (total - successes)
    draws = list(combinations(tries, k))
    assert pass_hat_k([(successes, total)], k) == pytest.approx(sum(map(all, draws)) / len(draws))


def test_pass_hat_k_over_tasks():
    assert pass_hat_k([(2, 2), (0, 2), (1, 1)], 2) == 0.5
    assert pass_hat_k([(1, 1)], 2) is None
    with pytest.raises(ValueError, match="cannot be"):
        pass_hat_k([(3, 2)], 1)
    with pytest.raises(ValueError, match="1 or more"):
        pass_hat_k([(1, 2)], 0)


def test_a_share_of_sums_draws_whole_groups():
    share = share_of_sums([(1, 2), (0, 0), (3, 4)])
    assert share.value == pytest.approx(4 / 6)
    assert (share.low, share.high) == (0.5, 0.75), "with two groups each drawn share is one of three"
    assert share == share_of_sums([(1, 2), (3, 4)])
    sure = share_of_sums([(2, 2)] * 5)
    assert (sure.value, sure.low, sure.high) == (1.0, 1.0, 1.0)
    assert share_of_sums([(0, 0)]) == share_of_sums([]) == Share(None)
