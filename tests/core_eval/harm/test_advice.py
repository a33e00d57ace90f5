"""Sensor advice: greedy and exact choice by hand-made detections, whose answers are known."""

from collections.abc import Collection
from itertools import pairwise
from typing import cast

import pytest

from core_eval.harm.detection.advice import MOST_CANDIDATES, Advisor
from core_eval.harm.detection.detect import Detection

PRICES = {"a": 10.0, "b": 10.0, "both": 15.0, "dear": 1000.0, "idle": 1.0}


class Known:
    """A detection whose probabilities are given by the best of the groups that are observed."""

    def __init__(self, **shares: float) -> None:
        self.groups = tuple(shares)
        self.shares = shares

    def probability(self, groups: Collection[str], rate: float) -> float:
        return max((self.shares[group] for group in groups), default=rate)


def advisor(*events: Known, own: tuple[str, ...] = ()) -> Advisor:
    return Advisor([(cast("Detection", event), own) for event in events], PRICES)


EVENTS = (Known(a=0.9, both=0.8), Known(b=0.9, both=0.8), Known(dear=1.0))


def test_the_exact_choice_is_the_front_of_share_by_price() -> None:
    exact = advisor(*EVENTS).exact()
    assert exact is not None
    assert [(one.sensors, one.cost) for one in exact] == [
        ((), 0.0),
        (("a",), 10.0),
        (("both",), 15.0),
        (("a", "b"), 20.0),
        (("a", "dear"), 1010.0),
        (("both", "dear"), 1015.0),
        (("a", "b", "dear"), 1020.0),
    ]
    assert exact[0].detected == pytest.approx(0.05) and exact[0].detectable == 0.0
    assert exact[-1].detected == pytest.approx((0.9 + 0.9 + 1.0) / 3.0) and exact[-1].detectable == 1.0


def test_the_greedy_choice_takes_the_most_gain_for_its_price_and_ends_where_nothing_adds() -> None:
    greedy = advisor(*EVENTS).greedy()
    assert [one.sensors for one in greedy] == [
        (),
        ("both",),
        ("both", "a"),
        ("both", "a", "b"),
        ("both", "a", "b", "dear"),
    ]
    assert all(left.detected < right.detected for left, right in pairwise(greedy))
    assert "idle" not in greedy[-1].sensors


def test_what_the_rig_has_needs_no_purchase() -> None:
    own = advisor(Known(bumper=0.95), own=("bumper",))
    assert own.useful == () and own.greedy() == own.exact() == [own.choice(())]
    assert own.choice(()).detectable == 1.0


def test_two_sensors_for_one_event_are_bought_once() -> None:
    twice = advisor(Known(a=0.9, b=0.9))
    exact = twice.exact()
    assert exact is not None and [one.sensors for one in exact] == [(), ("a",)]
    assert [one.sensors for one in twice.greedy()] == [(), ("a",)]


def test_too_many_candidates_are_chosen_greedily_only() -> None:
    names = [f"s{k}" for k in range(MOST_CANDIDATES + 1)]
    many = Advisor(
        [(cast("Detection", Known(**{name: 0.9})), ()) for name in names], dict.fromkeys(names, 1.0)
    )
    assert many.exact() is None and len(many.greedy()) == len(names) + 1
