"""Repeated episodes: mean, error, interval, tests, quantiles, pass^k."""

from __future__ import annotations

from itertools import combinations
from math import sqrt

import numpy as np
import pytest
import scipy.stats

from core_eval.statistics.estimates import (
    QUANTILES,
    holm,
    pass_hat_k,
    share_of_sums,
    summarize,
    units_needed,
)
from core_eval.statistics.intervals import Groups, wilson
from core_eval.statistics.student_t import quantile, two_sided


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
    assert summarize([0.5, float("inf"), 0.7, float("nan")]).defined == 2


def test_the_interval_is_that_of_t_over_the_units():
    values = [-0.2, 0.1, 0.05, 0.0, 0.3]
    told = summarize(values)
    half = scipy.stats.t.ppf(0.975, 4) * np.std(values, ddof=1) / sqrt(5)
    assert (told.low, told.high) == pytest.approx((told.mean - half, told.mean + half), rel=1e-6)
    tasks = summarize(
        [one + off for one in values for off in (-0.5, 0.5)], [(n // 2, None) for n in range(10)]
    )
    assert (tasks.low, tasks.high) == pytest.approx((told.low, told.high))


def test_values_at_a_limit_have_a_skewed_interval_within_the_limits():
    told = summarize([1.0, 1.0, 1.0, 0.9, 1.0], limits=(0.0, 1.0))
    assert told.high == 1.0 and told.mean - told.low > 2 * (told.high - told.mean)
    counts = summarize([0.0, 0.0, 1.0, 0.0, 2.0], limits=(0.0, None))
    assert counts.low == 0.0 and counts.high - counts.mean > counts.mean
    # A difference of one sign is as skewed as its size, and its mirror image the other way.
    turned = summarize([0.0, 0.0, -1.0, 0.0, -2.0])
    assert -turned.low == pytest.approx(counts.high) and turned.high > 0.0


def test_the_far_end_of_a_skewed_interval_is_where_the_score_test_ends():
    """There the distance is the t interval's reach times the root of V(end) / V(mean)."""
    reach = scipy.stats.t.ppf(0.975, 4)
    shares = summarize([1.0, 1.0, 1.0, 0.9, 1.0], limits=(0.0, 1.0))
    variance = shares.low * (1.0 - shares.low) / (shares.mean * (1.0 - shares.mean))
    assert shares.mean - shares.low == pytest.approx(reach * shares.standard_error * sqrt(variance))
    counts = summarize([0.0, 0.0, 1.0, 0.0, 2.0], limits=(0.0, None))
    variance = counts.high / counts.mean
    assert counts.high - counts.mean == pytest.approx(reach * counts.standard_error * sqrt(variance))


def test_a_value_beyond_its_limits_is_no_limit():
    told = summarize([1.5, 0.5, 0.25, 0.75], limits=(0.0, 1.0))
    assert told.low < told.mean < told.high and told.high > 1.0


def test_what_cannot_be_told_says_why():
    assert summarize([0.4, 0.9]).why_none == "too few"
    two_tasks = summarize([0.1, 0.5, 0.9, 0.3], [("a", None), ("a", None), ("b", None), ("b", None)])
    assert (two_tasks.units, two_tasks.why_none, two_tasks.low) == (2, "too few", None)
    assert summarize([0.7] * 5).why_none == "all equal"
    # Equal but for their rounding.
    assert summarize([0.1 + 0.2, 0.3, 0.3]).why_none == "all equal"
    assert summarize([0.4, 0.9, 0.1]).why_none == ""
    assert summarize([]).why_none == "no value"


@pytest.mark.parametrize("df", [1, 2, 3, 4, 9, 29, 30, 150, 199, 200, 5000])
def test_student_t_is_that_of_scipy(df: int):
    for probability in (0.6, 0.9, 0.975, 0.9975, 0.99999):
        assert quantile(probability, df) == pytest.approx(scipy.stats.t.ppf(probability, df), rel=1e-6)
    for t in (0.0, 0.3, 1.0, 2.5, -7.0, 40.0):
        assert two_sided(t, df) == pytest.approx(2 * scipy.stats.t.sf(abs(t), df), abs=1e-11)


def test_p_values_are_those_of_a_t_test():
    values = [0.2, -0.1, 0.3, 0.25, 0.0, 0.4]
    told = summarize(values)
    assert told.p_value() == pytest.approx(scipy.stats.ttest_1samp(values, 0.0).pvalue)
    assert told.p_value(beyond=0.1) == pytest.approx(scipy.stats.ttest_1samp(values, 0.1).pvalue)
    assert told.p_value(beyond=0.2) == 1.0
    assert told.effect_size() == pytest.approx(np.mean(values) / np.std(values, ddof=1))
    assert summarize([0.3, 0.2]).p_value() is None
    # Of equal values a t test would be sure; but the signs of three agree by chance in one case of four.
    assert summarize([0.5] * 3).p_value() == 0.25
    assert summarize([0.0] * 3).p_value() == 1.0


def test_holm():
    # Worked by hand: the smallest times 4, the next times 3, and never below the one before.
    assert holm([0.03, 0.01, 0.5, 0.02]) == pytest.approx([0.06, 0.04, 0.5, 0.06])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


@pytest.mark.slow
@pytest.mark.parametrize(("difference", "power"), [(0.5, 0.8), (0.2, 0.9), (1.5, 0.8)])
def test_as_many_units_as_needed_tell_the_difference_as_often_as_said(difference: float, power: float):
    rng = np.random.default_rng(5)
    units = units_needed(1.0, difference, 0.05, power)
    drawn = rng.normal(difference, 1.0, (4000, units))
    told = (scipy.stats.ttest_1samp(drawn, 0.0, axis=1).pvalue <= 0.05).mean()
    assert power - 0.02 <= told <= power + (0.03 if units > 10 else 0.15)
    fewer = scipy.stats.ttest_1samp(drawn[:, : units * 3 // 4], 0.0, axis=1).pvalue <= 0.05
    assert fewer.mean() < power
    # A log with this spread tells as much.
    exact = (drawn[0] - drawn[0].mean()) / np.std(drawn[0], ddof=1)
    assert summarize(exact).least_told(power=power) <= difference


def test_the_standard_error_is_that_of_the_tasks():
    values = [0.0, 0.2, 0.8, 1.0]
    keys = [("a", None), ("a", None), ("b", None), ("b", None)]
    # The two tasks' means are 0.1 and 0.9.
    assert summarize(values, keys).standard_error == pytest.approx(sqrt(2 * 0.4**2) / sqrt(2))
    one_each = summarize(values, [(n, None) for n in "abcd"]).standard_error
    assert one_each == pytest.approx(summarize(values).standard_error)


def test_tasks_that_come_out_equal_by_chance_are_no_surer_than_their_tries():
    values = [0.0, 1.0, 0.2, 0.8, 0.4, 0.6]
    keys = [(task, None) for task in "aabbcc"]
    told = summarize(values, keys)
    assert told.standard_error == summarize(values).standard_error > 0.1
    assert told.units == 3 and told.high - told.low > 1.0


def test_identical_episodes_are_one_try():
    twenty = summarize([1.0] * 20, [("t", "same")] * 20)
    assert (twenty.episodes, twenty.distinct, twenty.mean) == (20, 1, 1.0)
    assert (twenty.standard_error, twenty.low, twenty.why_none) == (None, None, "too few")
    # Whatever was run twice leaves the interval as it was, whether there is one task or several.
    values = [0.3, 0.9, 0.5, 0.1]
    for keys in ([("a", 1), ("a", 2), ("b", 3), ("c", 4)], [("a", n) for n in range(4)]):
        once, twice = summarize(values, keys), summarize(values * 2, keys * 2)
        assert (twice.low, twice.high) == pytest.approx((once.low, once.high))
        assert (twice.episodes, twice.distinct, twice.units) == (8, 4, once.units)
    pooled = summarize(values * 2)
    assert pooled.high - pooled.low < 0.85 * (once.high - once.low)


def test_a_path_that_comes_up_often_keeps_its_weight():
    # 18 of 20 tries went one and the same way: the mean says so, and the interval is that of three tries.
    keys = [("t", "good")] * 18 + [("t", "bad"), ("t", "worse")]
    summary = summarize([1.0] * 18 + [0.5, 0.0], keys)
    assert (summary.mean, summary.distinct, summary.units) == (pytest.approx(0.925), 3, 3)
    assert summary.standard_error == pytest.approx(sqrt((18 * 0.075**2 + 0.425**2 + 0.925**2) / 20 / 2))


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


def test_a_flag_gets_wilson_over_what_its_tries_are_worth():
    six = summarize([1.0] * 6, flag=True)
    assert (six.mean, six.low, six.high) == (1.0, *wilson(1.0, 6, 0.95, df=5))
    assert six.low < wilson(1.0, 6, 0.95)[0]
    same = summarize([1.0] * 6, [("t", "same")] * 6, flag=True)
    assert (same.low, same.why_none) == (None, "too few")
    # Tries of a task that are all alike are worth one; tries that are not alike count each.
    keys = [(task, None) for task in range(4) for _ in range(5)]
    alike = summarize([1.0] * 10 + [0.0] * 10, keys, flag=True)
    assert (alike.low, alike.high) == pytest.approx(wilson(0.5, 3, 0.95, df=3))
    unlike = summarize([1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0] * 2, keys, flag=True)
    assert unlike.high - unlike.low < alike.high - alike.low
    sure = summarize([1.0] * 20, keys, flag=True)
    assert (sure.low, sure.high) == wilson(1.0, 4, 0.95, df=3)


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


def test_a_share_of_sums_is_over_whole_groups():
    share = share_of_sums([(1, 2), (0, 0), (3, 4), (2, 2)])
    assert share.mean == pytest.approx(6 / 8) and (share.episodes, share.defined) == (4, 3)
    # The influences of the groups on the share are -0.5 / 8, 0 and 0.5 / 8.
    assert share.standard_error == pytest.approx(sqrt(3 / 2 * 2 * (0.5 / 8) ** 2))
    assert 0.0 <= share.low < share.mean < share.high <= 1.0
    assert share_of_sums([(0, 0)]).mean is share_of_sums([]).mean is None


def test_a_share_of_all_or_nothing_is_not_sure():
    sure = share_of_sums([(2, 2)] * 5)
    assert (sure.mean, sure.low, sure.high) == (1.0, *wilson(1.0, 5, 0.95, df=4))
    same = share_of_sums([(2, 2)] * 5, [("t", "same")] * 5)
    assert (same.low, same.why_none) == (None, "too few")
    half = share_of_sums([(1, 2)] * 5)
    assert (half.mean, half.low, half.why_none) == (0.5, None, "all equal")


@pytest.mark.parametrize("seed", range(20))
def test_identical_episodes_may_be_counted_in_place_of_repeated(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tries = int(rng.integers(1, 30))
    values = rng.choice([0.0, 0.25, 1 / 3, 1.0, np.nan, 7.5], tries)
    tasks, times = np.sort(rng.integers(0, 4, tries)), rng.integers(1, 6, tries)
    counted = summarize(values, Groups(tasks, np.arange(tries), times))
    repeated = summarize(
        np.repeat(values, times), Groups(np.repeat(tasks, times), np.repeat(np.arange(tries), times))
    )
    assert (counted.why_none, counted.units, counted.distinct) == (
        repeated.why_none,
        repeated.units,
        repeated.distinct,
    )
    assert (counted.episodes, counted.defined) == (repeated.episodes, repeated.defined)
    for name in ("mean", "standard_error", "low", "high"):
        assert getattr(counted, name) == pytest.approx(getattr(repeated, name), rel=1e-9, abs=1e-12)
    known = np.repeat(values, times)[np.isfinite(np.repeat(values, times))]
    assert counted.quantiles == repeated.quantiles
    if len(known):
        assert [cut for _, cut in counted.quantiles] == list(np.quantile(known, QUANTILES))
