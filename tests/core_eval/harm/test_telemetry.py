"""Whether two recordings of the same sensors differ, and where first."""

import pytest

from core_eval.harm.telemetry import first_difference
from devices.sensors import Sample, SensorSpec


@pytest.mark.parametrize(
    ("spec", "ours", "theirs", "differs"),
    [
        (SensorSpec(kind="quantised", resolution=0.1), [(1.0, 0.0)], [(1.1, 0.0)], False),
        (SensorSpec(kind="quantised", resolution=0.1), [(1.0, 0.0)], [(1.2, 0.0)], True),
        (SensorSpec(), [(True, 5.0)], [(True, 5.9)], False),
        (SensorSpec(), [(True, 5.0)], [(True, 7.0)], True),
        (SensorSpec(period=1.0), [("wet", 5.0)], [("dry", 5.0)], True),
        (SensorSpec(), [(True, 5.0), (False, 6.0)], [(True, 5.0)], True),
        (SensorSpec(), [(True, 5.0)], [(1, 5.0)], False),
        # Just as far apart as the resolution and its rounding.
        (SensorSpec(kind="continuous", period=1.0, resolution=0.5), [(0.0, 0.0)], [(0.5 + 1e-9, 0.0)], False),
        (SensorSpec(kind="continuous", period=1.0, resolution=0.5), [(0.0, 0.0)], [(0.5 + 2e-9, 0.0)], True),
    ],
)
def test_samples_differ_beyond_the_resolution(spec, ours, theirs, differs):
    samples = [[Sample("s", value, t) for value, t in side] for side in (ours, theirs)]
    assert (first_difference(*samples, {"s": spec}) is not None) is differs


STEPPED = SensorSpec(kind="quantised", resolution=0.1)


@pytest.mark.parametrize(
    ("ours", "theirs", "found"),
    [
        ([(1.0, 0.0), (0.9, 132.0)], [(1.0, 0.0), (0.9, 134.0)], None),
        ([(1.0, 0.0), (0.9, 132.0)], [(1.0, 0.0)], None),
        ([(1.0, 0.0), (0.9, 5.0), (0.8, 9.0)], [(1.0, 0.0), (0.9, 50.0)], 9.0),
        ([(1.0, 0.0)], [(1.0, 0.0), (0.9, 5.0), (0.8, 9.0)], 9.0),
        ([(0.3, 0.0), (1.0, 60.0)], [(0.3, 0.0), (1.0, 60.4)], None),
        ([(0.3, 0.0), (1.0, 60.0)], [(0.3, 0.0), (1.0, 61.0)], None),
        ([(0.3, 0.0), (1.0, 60.0)], [(0.3, 0.0), (1.0, 62.0)], 60.0),
        ([(0.3, 0.0), (1.0, 60.0)], [(0.3, 0.0)], 60.0),
        # Just as far apart as the resolution and its rounding.
        ([(0.0, 0.0)], [(0.1 + 1e-9, 0.0)], None),
        ([(0.0, 0.0)], [(0.1 + 2e-9, 0.0), (0.0, 9.0)], 0.0),
    ],
)
def test_a_rounded_number_is_compared_by_what_it_shows_at_each_moment(ours, theirs, found):
    samples = [[Sample("s", value, t) for value, t in side] for side in (ours, theirs)]
    evidence = first_difference(*samples, {"s": STEPPED})
    assert (evidence is None) == (found is None)
    if found is not None:
        assert evidence["sensor"] == "s"
        assert found in (evidence["t"], evidence["counterfactual_t"])


def test_what_a_sensor_showed_before_goes_on_being_shown():
    before = [Sample("s", 1.0, 0.0)]
    assert first_difference([Sample("s", 0.9, 132.0)], [], {"s": STEPPED}, before) is None
    found = first_difference([Sample("s", 0.8, 132.0)], [], {"s": STEPPED}, before)
    assert found is not None and (found["t"], found["counterfactual"]) == (132.0, 1.0)


def test_the_evidence_is_the_earliest_difference():
    specs = {"a": SensorSpec(), "b": SensorSpec()}
    ours = [Sample("a", True, 9.0), Sample("b", True, 3.0)]
    theirs = [Sample("a", False, 9.0), Sample("b", False, 3.0)]
    assert first_difference(ours, theirs, specs) == {
        "sensor": "b", "index": 0, "t": 3.0, "value": True, "counterfactual": False, "counterfactual_t": 3.0,
    }  # fmt: skip


def test_the_evidence_quotes_both_sides_at_the_same_moment():
    ours = [Sample("s", False, 0.0), Sample("s", True, 5.0), Sample("s", False, 111.0)]
    theirs = [Sample("s", False, 0.0), Sample("s", True, 5.0), Sample("s", True, 1088.0)]
    found = first_difference(ours, theirs, {"s": SensorSpec()})
    assert (found["t"], found["value"]) == (111.0, False)
    assert (found["counterfactual_t"], found["counterfactual"]) == (111.0, True), "what it showed since 5 s"
    late = first_difference(
        [Sample("s", False, 0.0), Sample("s", True, 5.0)],
        [Sample("s", False, 0.0), Sample("s", True, 9.0)],
        {"s": SensorSpec()},
    )
    assert (late["value"], late["counterfactual"]) == (True, False), "not the same word twice"
    assert late["t"] == late["counterfactual_t"] == 5.0


def test_a_word_that_one_side_alone_repeats_stands_against_nothing():
    ours = [Sample("s", True, 0.0), Sample("s", True, 5.0)]
    found = first_difference(ours, [Sample("s", True, 0.0)], {"s": SensorSpec()})
    assert (found["t"], found["value"]) == (5.0, True)
    assert (found["counterfactual_t"], found["counterfactual"]) == (None, None)
