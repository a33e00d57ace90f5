"""The plot behind the drawings: its scales, its lines, and labels within the drawing."""

from xml.etree import ElementTree

import pytest

from core_eval.report.pictures.plot import Plot, Scale, path, spread_over, ticks


def test_a_scale_is_straight_between_its_values_and_ends_at_the_edge() -> None:
    scale = Scale((0.0, 10.0, 110.0), (0.0, 50.0, 100.0))
    assert [scale(value) for value in (0.0, 5.0, 10.0, 60.0, 110.0)] == [0.0, 25.0, 50.0, 75.0, 100.0]
    assert (scale(-3.0), scale(500.0)) == (0.0, 100.0)
    beyond = Scale((0.0, 10.0), (100.0, 0.0), closed=False)
    assert (beyond(12.0), beyond.per_unit) == (-20.0, -10.0)


def test_values_that_are_all_equal_are_in_the_middle() -> None:
    assert spread_over([3.0, 3.0], 20.0, 0.0)(3.0) == 10.0
    wide = spread_over([0.0, 10.0], 100.0, 0.0, margin=0.1)
    assert wide.values == pytest.approx((-1.0, 11.0))


def test_ticks_are_round_and_within_the_range() -> None:
    assert ticks(0.0, 1.0, 4) == [0.5, 1.0]
    assert ticks(-3.0, 47.0, 5) == [0.0, 10.0, 20.0, 30.0, 40.0]


def test_a_value_holds_until_the_next_one() -> None:
    assert path([(0.0, 1.0), (5.0, 2.0)]) == "M0.0 1.0L5.0 2.0"
    assert path([(0.0, 1.0), (5.0, 2.0)], hold=True) == "M0.0 1.0H5.0V2.0"
    plot = Plot("x", "a < b", 100, 50, Scale((0.0, 10.0), (10.0, 90.0)), Scale((0.0, 1.0), (40.0, 10.0)))
    plot.line([(0.0, 0.0), (5.0, 1.0)], "steps", hold=True, to_edge=True)
    plot.over(Scale((0.0, 2.0), (40.0, 10.0))).dot((5.0, 1.0), "dot", 3, "one & two")
    plot.text(98.0, 45.0, "at edge")
    root = ElementTree.fromstring(plot.svg())
    assert root.attrib["aria-label"] == "a < b"
    line, dot, words = root
    assert line.attrib["d"] == "M10.0 40.0H50.0V10.0H90.0"
    assert (dot.attrib["cx"], dot.attrib["cy"], dot[0].text) == ("50.0", "25.0", "one & two")
    assert float(words.attrib["x"]) < 80, "moved so that all of it is inside"
