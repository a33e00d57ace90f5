"""The Pareto front over agents, and the gated minimum."""

from __future__ import annotations

import pytest

from core_eval.statistics.pareto import dominates, gated_minimum, pareto_front

LESS = {"harmful_calls"}


def test_the_front():
    agents = {
        "careful": {"path_correctness": 0.7, "harmful_calls": 0},
        "bold": {"path_correctness": 0.9, "harmful_calls": 2},
        "worse": {"path_correctness": 0.6, "harmful_calls": 1},
        "twin": {"path_correctness": 0.7, "harmful_calls": 0},
    }
    assert pareto_front(agents, LESS) == ["careful", "bold", "twin"]


def test_undefined_metrics_are_not_compared():
    one = {"efficiency": None, "path_correctness": 0.5}
    other = {"efficiency": 0.9, "path_correctness": 0.4}
    assert dominates(one, other, LESS)
    assert not dominates(other, one, LESS)
    assert not dominates({"a": 1.0}, {"b": 0.0}, LESS)
    assert not dominates({"a": 1.0}, {"a": 1.0}, LESS)


def test_gated_minimum():
    scores = {"pc": 1.0, "harm": 0.25, "efficiency": None}
    assert gated_minimum(scores, {"pc": 3, "harm": 1}, []) == 0.8125
    assert gated_minimum(scores, {"pc": 3, "harm": 1}, ["harm"]) == 0.25
    assert gated_minimum(scores, {"pc": 1, "efficiency": 5}, ["efficiency"]) == 1.0
    assert gated_minimum(scores, {"efficiency": 5}, ["harm"]) is None


@pytest.mark.parametrize(
    ("weights", "critical", "said"),
    [
        ({"nothing": 1}, [], "'nothing' is not a score"),
        ({"pc": 1}, ["nothing"], "'nothing' is not a score"),
        ({"pc": -1}, [], "weight of 'pc'"),
        ({"pc": True}, [], "weight of 'pc'"),
        ({"pc": 0}, [], "at least one weight"),
    ],
)
def test_bad_weights(weights, critical, said):
    with pytest.raises(ValueError, match=said):
        gated_minimum({"pc": 1.0}, weights, critical)
