"""What `compare` says of equal agents: seldom anything, on the whole page."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.chance import difficulties, rows, spoken, wrong_pages, wrong_sweeps
from core_eval.score.contrast import between, grid_of, within

pytestmark = pytest.mark.slow
PAGES = 400


@pytest.mark.parametrize(
    ("tasks", "tries"),
    [
        *[(1, 3), (3, 1), (5, 5), (10, 1)],
        *(pytest.param(*one, marks=pytest.mark.nightly) for one in [(1, 5), (5, 1), (10, 5), (30, 1)]),
    ],
)
def test_two_equal_agents_are_seldom_told_apart(tasks: int, tries: int) -> None:
    assert wrong_pages(tasks, tries, PAGES) <= 0.05 + 1.6 * (0.05 * 0.95 / PAGES) ** 0.5


def test_four_equal_agents_of_one_log_share_the_error() -> None:
    rng = np.random.default_rng(4)
    wrong = 0
    for _ in range(200):
        chances = difficulties(rng, 5)
        page = [one for agent in "abcd" for one in rows(rng, chances, 2, agent)]
        wrong += spoken(within(grid_of(page)))
    assert wrong / 200 <= 0.05 + 1.6 * (0.05 * 0.95 / 200) ** 0.5


@pytest.mark.parametrize(("tasks", "tries"), [(1, 1), (1, 2), (2, 1), (2, 5)])
def test_of_one_or_two_units_nothing_is_said(tasks: int, tries: int) -> None:
    rng = np.random.default_rng(6)
    for _ in range(20):
        page = between(rows(rng, [1.0] * tasks, tries), rows(rng, [0.0] * tasks, tries))
        assert not spoken(page)


def test_a_difference_that_is_there_is_told() -> None:
    rng = np.random.default_rng(8)
    told = []
    for _ in range(50):
        (one,) = between(rows(rng, [0.9] * 10, 5), rows(rng, [0.9] * 10, 5, worse=0.4))
        told.append(one.verdict("path_correctness") == "worse")
    assert np.mean(told) > 0.6


def test_a_sweep_without_any_effect_seldom_tells_one() -> None:
    assert wrong_sweeps(12, 1, 200) <= 0.05 + 1.6 * (0.05 * 0.95 / 200) ** 0.5
