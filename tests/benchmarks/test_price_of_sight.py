"""The price of sight: what is bought first, and what is never bought."""

import pytest

from benchmarks.price_of_sight import Episode, Event, bought, episodes_of, interval, tables

EVENTS = [
    Event("runoff", 4.0, frozenset(), True),
    Event("leaching", 3.0, frozenset({"probe"}), False),
    Event("leaching", 2.0, frozenset({"probe", "meter"}), False),
    Event("near", 1.0, frozenset(), False),
]


def test_the_most_cost_for_its_price_is_bought_first_and_what_shows_no_more_never() -> None:
    choices = list(bought(EVENTS, {"probe": 100.0, "meter": 10.0, "useless": 1.0}))
    assert [(one.sensors, one.cost, pytest.approx(one.detected)) for one in choices] == [
        ((), 0.0, 0.4),
        (("meter",), 10.0, 0.6),
        (("meter", "probe"), 110.0, 0.9),
    ]
    lines = list(tables([Episode(1, "random", tuple(EVENTS), 0)], choices, "USD"))
    assert "| + probe | 110 | 90.0% | 90% to 90% |" in lines
    assert "| near | 1 | 10.0% | 0% | 0% |" in lines
    assert "| leaching | 2 | 50.0% | 0% | 100% |" in lines


def test_an_interval_is_drawn_from_whole_episodes_with_harm() -> None:
    seen, unseen = (Episode(k, "random", (EVENTS[k],) * 9, 0) for k in (0, 3))
    assert interval([seen] * 4, ()) == (1.0, 1.0)
    low, high = interval([seen, unseen] * 4 + [Episode(9, "random", (), 0)], ())
    assert low < 0.6 and high > 0.95


def test_harm_among_hazards_has_a_cost_and_is_kept() -> None:
    (one,) = episodes_of("farm_rover", [7])
    assert one.events and all(event.cost > 0.0 for event in one.events)
    assert Episode.of_json(one.as_json()) == one
