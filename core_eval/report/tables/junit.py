"""Writes JUnit XML that agrees with the exit status.

A missed threshold is a failure, infrastructure an error, and what was not run is skipped. Metrics are
properties, and the outcome in one sentence is one of the suite. XML 1.0 cannot contain most control
characters: they are shown as escapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from xml.etree import ElementTree as xml

from core_eval.log import EpisodeRow
from core_eval.report.tables.agents import Group, agent_groups, passed_text
from core_eval.score.episodes import NO_CALL, counted, no_call
from core_eval.score.metrics import METRICS, json_value
from core_eval.score.outcome import outcome
from core_eval.score.repeated import passed
from core_eval.score.summary import mean
from core_eval.score.thresholds import Judged, Threshold
from core_eval.text.visible_text import visible

INFRASTRUCTURE = frozenset({"error", "aborted", "interrupted", "running"})


@dataclass(frozen=True, slots=True)
class NotRun:
    """An episode of the plan that was not run, because the rig is missing or the run ended before it."""

    rig: str
    agent: str
    task: str
    seed: int


def junit_xml(
    episodes: Sequence[EpisodeRow],
    judged: Sequence[Judged],
    not_run: Sequence[NotRun] = (),
    not_judged: Sequence[Threshold] = (),
    why: str = "",
    report: str | None = None,
    suites: Sequence[str] = (),
) -> str:
    """Return a test suite with a case for each episode of the plan, and for each threshold with each agent.

    Args:
        episodes: those that were run.
        judged: the thresholds, where the run came to its end.
        not_run: the episodes that are missing.
        not_judged: the thresholds, where it did not.
        why: the reason why the missing ones were not run.
        report: the HTML report, to which each episode's case has a link.
        suites: what was measured: name, version and digest of each suite.
    """
    suite = xml.Element("testsuite", name="pathrig")
    if episodes:
        told = xml.SubElement(suite, "properties")
        xml.SubElement(told, "property", name="outcome", value=visible(outcome(episodes)))
        for suite_name in suites:
            xml.SubElement(told, "property", name="suite", value=visible(suite_name))
        for group in agent_groups(episodes):
            for what, value in _headline(group).items():
                xml.SubElement(told, "property", name=visible(f"{what} of {group.agent}"), value=value)
    for episode in episodes:
        _episode_case(suite, episode, report)
    for missing in not_run:
        case = _case(suite, f"pathrig.{missing.rig}.{missing.agent}", f"{missing.task} seed {missing.seed}")
        xml.SubElement(case, "skipped", message=visible(f"not run: {why}"))
    for one in judged:
        case = _case(suite, "pathrig.thresholds", f"{one.threshold} ({one.who})")
        if one.missed is not None:
            xml.SubElement(case, "failure", type="threshold", message=visible(one.missed))
    for threshold in not_judged:
        case = _case(suite, "pathrig.thresholds", str(threshold))
        xml.SubElement(case, "skipped", message=visible(f"not judged: {why}"))
    suite.set("tests", str(len(suite.findall("testcase"))))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("errors", str(len(suite.findall("testcase/error"))))
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    suite.set("time", f"{sum(_seconds(episode) for episode in episodes):.3f}")
    if episodes:
        suite.set("timestamp", datetime.fromtimestamp(episodes[0].started, UTC).isoformat())
    root = xml.Element("testsuites")
    root.append(suite)
    xml.indent(root)
    return xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: xml.Element, group: str, name: str) -> xml.Element:
    return xml.SubElement(suite, "testcase", classname=visible(group), name=visible(name))


def _episode_case(suite: xml.Element, episode: EpisodeRow, report: str | None) -> None:
    group, name = f"pathrig.{episode.rig}.{episode.agent}", f"{episode.task} seed {episode.seed}"
    case = _case(suite, group, name)
    case.set("time", f"{_seconds(episode):.3f}")
    properties = xml.SubElement(case, "properties")
    good = {True: "True", False: "False", None: "unknown"}[passed(episode)]
    xml.SubElement(properties, "property", name="passed", value=good)
    for metric in METRICS:
        value = json_value(metric.name, episode.scores.get(metric.name))
        if value is not None:
            xml.SubElement(properties, "property", name=metric.name, value=str(value))
    if report is not None:
        link = f"{report}#episode-{episode.id}"
        xml.SubElement(properties, "property", name="report", value=visible(link))
    if no_call(episode):
        xml.SubElement(properties, "property", name=NO_CALL.replace(" ", "_"), value="True")
    if episode.status in INFRASTRUCTURE:
        message = episode.error or f"the episode was {episode.status}"
        xml.SubElement(case, "error", type=episode.status, message=visible(message))


def _headline(group: Group) -> dict[str, str]:
    """Return how many episodes of tasks that need a call passed, and of the others, by name."""
    refused = mean(group.rows, "over_refusal")
    return {
        "passed": passed_text(counted(group.rows)),
        **({} if refused is None else {"over_refusal": f"{refused:.3f}"}),
        **{heading: passed_text(rows) for heading, rows in group.aside.items() if rows},
    }


def _seconds(episode: EpisodeRow) -> float:
    return episode.wall_seconds or 0.0
