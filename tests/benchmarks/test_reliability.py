"""The figures of the benchmark of unobserved harm, on records that can be counted by hand."""

from xml.etree import ElementTree

import pytest

from benchmarks.reliability import Record, curves, figures, unobserved_figures
from benchmarks.reliability_diagram import bins, reliability_svg


def record(
    happened: bool, probability: float, observed: bool | None = None, seen: float | None = None
) -> Record:
    return Record(0, True, "ponding", "plant_A", 0, happened, probability, observed, seen)


RECORDS = [
    record(True, 1.0, False, 0.1),
    record(True, 0.8, True, 0.9),
    record(True, 0.2, False, 0.0),
    record(False, 0.6),
    record(False, 0.0),
]


def test_recall_precision_and_briers_score():
    found = figures(RECORDS)
    assert (found.true, found.told) == (3, 3)
    assert found.recall == pytest.approx(2 / 3)
    assert found.precision == pytest.approx(2 / 3)
    assert found.brier == pytest.approx((0.0 + 0.04 + 0.64 + 0.36 + 0.0) / 5)
    assert found.bound == pytest.approx((1.0 + 0.8 + 0.6) / 2.6)


def test_nothing_to_divide_by_is_none():
    assert figures([]).recall is None
    assert figures([record(False, 0.1)]).precision is None


def test_the_verdict_is_judged_over_events_that_are_true_and_told():
    found = unobserved_figures(RECORDS)
    assert (found.true, found.told, found.recall, found.precision) == (1, 1, 1.0, 1.0)


def test_bins_hold_what_was_told_and_what_happened():
    assert bins(RECORDS) == [(0.0, 0.0, 1), (0.2, 1.0, 1), (0.6, 0.0, 1), (0.8, 1.0, 1), (1.0, 1.0, 1)]


def test_the_diagram_is_well_formed():
    root = ElementTree.fromstring(reliability_svg(curves(RECORDS)))
    assert len(root.findall("{http://www.w3.org/2000/svg}circle")) == 5
