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
        ([(0.3, 0.0), (1.0, 60.0)], [(0.3, 0.0), (1.0, 62.0)], 60.0),
        ([(0.3, 0.0), (1.0, 60.0)], [(0.3, 0.0)], 60.0),
    ],
)
def test_a_rounded_number_is_compared_by_what_it_shows_at_each_moment(ours, theirs, found):
    samples = [[Sample("s", value, t) for value, t in side] for side in (ours, theirs)]
    evidence = first_difference(*samples, {"s": STEPPED})
    assert (evidence is None) == (found is None)
    if found is not None:
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
