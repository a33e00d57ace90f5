"""Risk against coverage: counted by hand; and ROC curves read from the log."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from core_eval.harm.detection.roc import FALSE_ALARMS
from core_eval.log import HarmRow
from core_eval.report.pictures.risk_coverage import expected_choices, risk_coverage, risk_svg
from core_eval.report.pictures.roc_drawing import logged_curves, panel_svg, set_names

EVENT = HarmRow("ponding", "plant_A", False, 1.0, 2.0, 0.1, 2.0, None, 1, 2)
ROC = {"results": [[0.0, 0.0], [1.0, 1.0]], "own sensors": [[0.0, 0.5], [0.1, 1.0], [1.0, 1.0]]}


def at(choices, low):
    return next(one for one in choices if one.low == low)


def test_risk_by_what_happened():
    choices = risk_coverage([(1.0, 1.0), (0.6, 1.0), (0.0, 1.0), (0.95, 0.0), (0.1, 0.0)])
    assert (at(choices, 0.5).coverage, at(choices, 0.5).risk) == (1.0, pytest.approx(2 / 5))
    assert (at(choices, 0.3).told, at(choices, 0.3).risk) == (4, pytest.approx(2 / 4))


def test_expected_risk_is_that_of_the_twins_own_probabilities():
    events = [replace(EVENT, probability=chance) for chance in (0.9, 0.6, 0.2)] + [EVENT]
    choices = expected_choices(events)
    assert at(choices, 0.5).risk == pytest.approx((0.1 + 0.4 + 0.2) / 3), "a certain event has no part in it"
    assert (at(choices, 0.3).told, at(choices, 0.3).risk) == (2, pytest.approx((0.1 + 0.2) / 2))
    assert at(choices, 0.05).risk is None
    assert expected_choices([EVENT]) == []
    drawn = ElementTree.fromstring(risk_svg(choices))
    assert len(drawn.findall("circle")) == 5, "one for each choice that tells any"


def test_curves_of_the_log_are_means_by_rule():
    diagonal = {name: [[0.0, 0.0], [1.0, 1.0]] for name in ROC}
    events = [replace(EVENT, roc=ROC), replace(EVENT, roc=diagonal), EVENT, replace(EVENT, kind="keep_out")]
    (rule,) = logged_curves(events)
    assert (rule.kind, rule.events, set_names([rule])) == ("ponding", 2, ["results", "own sensors"])
    own = dict(rule.sets["own sensors"])
    assert own[FALSE_ALARMS] == pytest.approx((0.75 + 0.05) / 2)
    drawn = ElementTree.fromstring(panel_svg(rule, set_names([rule])))
    assert "own sensors 40%" in drawn.attrib["aria-label"]
    assert [one.attrib["class"] for one in drawn.findall("path")][2:] == ["line set0", "line set1"]
