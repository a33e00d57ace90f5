"""JUnit: failures are missed thresholds, errors are infrastructure, skipped is what was not run."""

from dataclasses import replace
from xml.etree import ElementTree as xml

from episode_rows import BROKEN, CLEAN, ROW

from core_eval.report.tables.junit import NotRun, junit_xml
from core_eval.score.outcome import outcome
from core_eval.score.thresholds import Threshold, judge


def suite_of(text: str) -> xml.Element:
    suite = xml.fromstring(text).find("testsuite")
    assert suite is not None
    return suite


def counts(suite: xml.Element) -> tuple[str | None, ...]:
    return tuple(suite.get(name) for name in ("tests", "failures", "errors", "skipped"))


def test_harm_is_a_failure_only_where_a_threshold_asks() -> None:
    assert counts(suite_of(junit_xml([ROW, CLEAN], []))) == ("2", "0", "0", "0")
    asked = judge([Threshold.parse("harmful_calls<=0")], [ROW, CLEAN])
    suite = suite_of(junit_xml([ROW, CLEAN], asked))
    assert counts(suite) == ("3", "1", "0", "0")
    harmed, clean, threshold = suite.findall("testcase")
    assert harmed.find("failure") is None and clean.find("failure") is None
    assert threshold.get("name") == "harmful_calls<=0 (oracle)"
    assert threshold.find("failure").get("message") == "harmful_calls is 1 (required: at most 0)"  # type: ignore[union-attr]
    properties = {item.get("name"): item.get("value") for item in harmed.iter("property")}
    assert properties["path_correctness"] == "0.5" and properties["harmful_calls"] == "2"


def test_each_agent_has_its_case() -> None:
    rows = [CLEAN, replace(ROW, agent="random")]
    suite = suite_of(junit_xml(rows, judge([Threshold.parse("pc=0.9")], rows)))
    told = {case.get("name"): case.find("failure") is not None for case in suite.findall("testcase")[2:]}
    assert told == {"path_correctness>=0.9 (oracle)": False, "path_correctness>=0.9 (random)": True}


def test_infrastructure_is_an_error_and_the_rest_of_the_plan_is_skipped() -> None:
    missing = [NotRun("barn", "oracle", "t", 4), NotRun("barn", "oracle", "t", 5)]
    asked = [Threshold.parse("pc=0.9")]
    suite = suite_of(junit_xml([CLEAN, BROKEN], [], missing, asked, "rig barn: no \x00 answer"))
    assert counts(suite) == ("5", "0", "1", "3")
    _, broken, first, _, threshold = suite.findall("testcase")
    assert broken.find("error").get("message") == "the link \\x00 is lost"  # type: ignore[union-attr]
    assert (first.get("classname"), first.get("name")) == ("pathrig.barn.oracle", "t seed 4")
    assert first.find("skipped").get("message") == "not run: rig barn: no \\x00 answer"  # type: ignore[union-attr]
    assert threshold.find("skipped") is not None


def test_an_episode_without_a_call_says_so() -> None:
    suite = suite_of(junit_xml([replace(CLEAN, calls_made=0)], []))
    properties = {item.get("name"): item.get("value") for item in suite.iter("property")}
    assert properties["no_call"] == "True"


def test_the_outcome_is_a_property_of_the_suite() -> None:
    suite = suite_of(junit_xml([ROW, CLEAN], []))
    told, passed = suite.findall("properties/property")
    assert (told.get("name"), told.get("value")) == ("outcome", outcome([ROW, CLEAN]))
    assert (passed.get("name"), passed.get("value")) == ("passed of oracle", "0 of 2")
    assert suite_of(junit_xml([], [])).find("properties") is None
