"""Repeated episodes: mean, error, interval, quantiles, pass^k."""

from __future__ import annotations

from itertools import combinations
from math import sqrt
from random import Random

import numpy as np
import pytest

from core_eval.path import intervals
from core_eval.path.intervals import bootstrap, tries_by_task, wilson
from core_eval.path.statistics import Share, pass_hat_k, share_of_sums, summarize


def test_known_values():
    summary = summarize([1.0, None, 2.0, 3.0, 6.0])
    assert (summary.episodes, summary.defined, summary.distinct, summary.mean) == (5, 4, 4, 3.0)
    assert summary.standard_error == pytest.approx(sqrt((4 + 1 + 0 + 9) / 3) / 2)
    assert dict(summary.quantiles) == {0.0: 1.0, 0.25: 1.75, 0.5: 2.5, 0.75: 3.75, 1.0: 6.0}
    assert summary.low < 3.0 < summary.high


def test_nothing_defined_and_one_value():
    empty = summarize([None, None])
    assert (empty.episodes, empty.defined, empty.mean, empty.low, empty.quantiles) == (2, 0, None, None, ())
    one = summarize([0.25])
    assert (one.mean, one.standard_error, one.low, one.high) == (0.25, None, None, None)


def test_the_interval_is_seeded():
    rng = Random(1)
    values = [rng.random() for _ in range(30)]
    assert summarize(values, seed=3) == summarize(values, seed=3)
    assert summarize(values, seed=3) != summarize(values, seed=4)


def test_the_interval_is_the_same_however_many_resamples_are_drawn_at_once(monkeypatch: pytest.MonkeyPatch):
    values = [float(n % 7) for n in range(30)]
    at_once = summarize(values, seed=3, resamples=400)
    monkeypatch.setattr(intervals, "_CHUNK", 1000)
    assert summarize(values, seed=3, resamples=400) == at_once


def test_the_interval_covers_the_mean_as_often_as_it_says():
    rng = Random(5)
    covered = 0
    for seed in range(200):
        values = [rng.gauss(10.0, 2.0) for _ in range(40)]
        summary = summarize(values, seed=seed, resamples=400)
        covered += summary.low <= 10.0 <= summary.high
    assert 0.89 <= covered / 200 <= 0.99


@pytest.mark.slow
def test_drawing_tasks_first_covers_the_mean_over_tasks_and_pooling_does_not():
    # Ten tasks of unlike difficulty, five tries of each: most of the spread lies between the tasks.
    rng = np.random.default_rng(7)
    keys = [(task, None) for task in range(10) for _ in range(5)]
    covered = {"tasks": 0, "pooled": 0}
    for seed in range(200):
        values = (rng.normal(0.5, 0.15, 10)[:, None] + rng.normal(0.0, 0.08, (10, 5))).ravel().tolist()
        for name, own in (("tasks", keys), ("pooled", None)):
            summary = summarize(values, own, seed=seed, resamples=400)
            covered[name] += summary.low <= 0.5 <= summary.high
    assert covered["tasks"] / 200 >= 0.85
    assert covered["pooled"] / 200 <= 0.72


def test_of_few_tasks_one_may_be_drawn_every_time():
    for tasks in (2, 3):
        values = [float(task > 0) for task in range(tasks) for _ in range(2)]
        keys = [(task, (task, n)) for task in range(tasks) for n in range(2)]
        drawn = tries_by_task(values, [1.0] * len(values), keys)
        assert bootstrap(drawn, seed=1, resamples=2000, level=0.95) == (0.0, 1.0), "all of the first, or none"
        assert bootstrap(drawn[:1], seed=1, resamples=2000, level=0.9) == (0.0, 0.0)


def test_the_standard_error_is_that_of_the_tasks():
    values = [0.0, 0.2, 0.8, 1.0]
    keys = [("a", None), ("a", None), ("b", None), ("b", None)]
    # The two tasks' means are 0.1 and 0.9.
    assert summarize(values, keys).standard_error == pytest.approx(sqrt(2 * 0.4**2) / sqrt(2))
    one_each = summarize(values, [(n, None) for n in "abcd"]).standard_error
    assert one_each == pytest.approx(summarize(values).standard_error)


def test_tasks_that_come_out_equal_by_chance_are_no_surer_than_their_tries():
    values = [0.0, 1.0, 0.2, 0.8001]
    keys = [("a", None), ("a", None), ("b", None), ("b", None)]
    told = summarize(values, keys)
    assert told.standard_error == summarize(values).standard_error > 0.2
    assert told.high - told.low > 0.5


def test_identical_episodes_are_one_try():
    twenty = summarize([1.0] * 20, [("t", "same")] * 20)
    assert (twenty.episodes, twenty.distinct, twenty.mean) == (20, 1, 1.0)
    assert (twenty.standard_error, twenty.low, twenty.high) == (None, None, None)
    # Whatever was run twice leaves the interval as it was, to the last bit.
    values, keys = [0.3, 0.9, 0.5, 0.1], [("a", 1), ("a", 2), ("b", 3), ("b", 4)]
    once, twice = summarize(values, keys), summarize(values * 2, keys * 2)
    assert (once.low, once.high, once.standard_error) == (twice.low, twice.high, twice.standard_error)
    assert (twice.episodes, twice.distinct) == (8, 4)
    pooled = summarize(values * 2)
    assert pooled.high - pooled.low < 0.85 * (summarize(values).high - summarize(values).low)


def test_a_path_that_comes_up_often_keeps_its_weight():
    # 19 of 20 tries went one and the same way: the mean says so, and the interval is that of two tries.
    summary = summarize([1.0] * 19 + [0.0], [("t", "good")] * 19 + [("t", "bad")])
    assert (summary.mean, summary.distinct) == (0.95, 2)
    assert (summary.low, summary.high) == (0.5, 1.0)


@pytest.mark.parametrize(
    ("share", "tries", "low", "high"),
    [(1.0, 6, 0.6097, 1.0), (0.0, 10, 0.0, 0.2775), (0.8, 5, 0.3755, 0.9638), (0.5, 100, 0.4038, 0.5962)],
)
def test_wilson(share: float, tries: int, low: float, high: float):
    assert wilson(share, tries, 0.95) == pytest.approx((low, high), abs=5e-5)


def test_wilson_stays_between_0_and_1_where_rounding_would_not():
    assert wilson(2.0**-45, 1, 0.99)[0] == 0.0
    assert wilson(1.0 - 2.0**-45, 1, 0.99)[1] <= 1.0
    assert all(
        wilson(1.0, tries, 0.95)[1] == 1.0 and wilson(0.0, tries, 0.95)[0] == 0.0 for tries in range(1, 200)
    )


def test_a_part_without_its_whole_is_an_error():
    with pytest.raises(ValueError):
        tries_by_task([1.0, 0.0], [1.0], None)
    with pytest.raises(ValueError):
        tries_by_task([1.0], [1.0, 1.0], [("a", None)])


def test_a_flag_gets_wilson_over_its_distinct_tries():
    six = summarize([1.0] * 6, flag=True)
    assert (six.mean, six.low, six.high) == (1.0, *wilson(1.0, 6, 0.95))
    same = summarize([1.0] * 6, [("t", "same")] * 6, flag=True)
    assert (same.low, same.high) == wilson(1.0, 1, 0.95)
    # Tries of a task that are all alike are worth one; tries that are not alike count each.
    keys = [(task, None) for task in range(4) for _ in range(5)]
    alike = summarize([1.0] * 10 + [0.0] * 10, keys, flag=True)
    assert (alike.low, alike.high) == pytest.approx(wilson(0.5, 4, 0.95))
    unlike = summarize([1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0] * 2, keys, flag=True)
    assert unlike.high - unlike.low < alike.high - alike.low
    sure = summarize([1.0] * 20, keys, flag=True)
    assert (sure.low, sure.high) == wilson(1.0, 4, 0.95)


def test_no_resamples_are_refused():
    with pytest.raises(ValueError, match="must be"):
        summarize([1.0], resamples=0)


@pytest.mark.parametrize(("successes", "total", "k"), [(3, 5, 1), (3, 5, 2), (5, 5, 5), (2, 6, 3), (0, 4, 1)])
def test_pass_hat_k_counts_the_draws_that_all_succeed(successes, total, k):
    tries = [True] * successes + [False] * (total - successes)
    draws = list(combinations(tries, k))
    assert pass_hat_k([(successes, total)], k) == pytest.approx(sum(map(all, draws)) / len(draws))


def test_pass_hat_k_over_tasks():
    assert pass_hat_k([(2, 2), (0, 2), (1, 1)], 2) == 0.5
    assert pass_hat_k([(1, 1)], 2) is None
    with pytest.raises(ValueError, match="impossible"):
        pass_hat_k([(3, 2)], 1)
    with pytest.raises(ValueError, match="1 or more"):
        pass_hat_k([(1, 2)], 0)


def test_a_share_of_sums_draws_whole_groups():
    share = share_of_sums([(1, 2), (0, 0), (3, 4)])
    assert share.value == pytest.approx(4 / 6)
    assert (share.low, share.high) == (0.5, 0.75), "with two groups each drawn share is one of three"
    assert share == share_of_sums([(1, 2), (3, 4)])
    assert share_of_sums([(0, 0)]) == share_of_sums([]) == Share(None)


def test_a_share_of_all_or_nothing_is_not_sure():
    sure = share_of_sums([(2, 2)] * 5)
    assert (sure.value, sure.low, sure.high) == (1.0, *wilson(1.0, 5, 0.95))
    same = share_of_sums([(2, 2)] * 5, [("t", "same")] * 5)
    assert (same.low, same.high) == wilson(1.0, 1, 0.95)
    half = share_of_sums([(1, 2)] * 5, [("t", "same")] * 5)
    assert (half.value, half.low, half.high) == (0.5, None, None)
