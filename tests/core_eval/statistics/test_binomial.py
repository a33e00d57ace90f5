"""Exact tests of a share: against scipy, and at their edges."""

from __future__ import annotations

import pytest
from scipy.stats import binomtest

from core_eval.statistics.intervals import chance_of_so_few, tries_needed


@pytest.mark.parametrize(
    ("failures", "tries", "share"), [(0, 99, 0.97), (3, 200, 0.97), (40, 41, 0.5), (5, 5, 0.9)]
)
def test_the_p_value_is_that_of_scipy(failures, tries, share):
    exact = binomtest(tries - failures, tries, share, alternative="greater").pvalue
    assert chance_of_so_few(failures, tries, share) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("failures", [0, 2, 7])
def test_one_try_less_shows_nothing(failures):
    needed = tries_needed(0.97, 0.05, failures)
    assert chance_of_so_few(failures, needed, 0.97) <= 0.05 < chance_of_so_few(failures, needed - 1, 0.97)
    assert failures or needed == 99
