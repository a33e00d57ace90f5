"""Violations of many traces, counted by rule and grouped where they are equal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from core_eval.rules.given_text import PlaceKind
from core_eval.rules.grounds import Told
from core_eval.rules.monitor import Finding, Tier, acts
from core_eval.rules.rule_file import SEVERITIES, Rule

Trace = str | int


class Checked(NamedTuple):
    """A trace with its violations, how many argument values stand where, and the tools that lack a schema.

    Of a line that is no trace only the fault.
    """

    trace: Trace = ""
    findings: Sequence[Finding] = ()
    places: Mapping[PlaceKind, int] = {}
    without_schema: Set[str] = frozenset()
    fault: str | None = None

    @classmethod
    def of(cls, trace: Trace, findings: Sequence[Finding], told: Told) -> Self:
        """Return a trace with what its agent had been told by its end."""
        return cls(trace, findings, told.places_found, told.schemas.missed)


@dataclass
class RuleCount:
    """How many traces violate a rule; each counts once in a column.

    Attributes:
        for_good: by an executed call.
        at_end: as they ended.
        prevented, corrected, unknown: by tier.
        first: trace and step of the first violation of any tier; the step is None where no call is to blame.
    """

    rule: Rule
    for_good: int = 0
    at_end: int = 0
    prevented: int = 0
    corrected: int = 0
    unknown: int = 0
    first: tuple[Trace, int | None] | None = None

    def add(self, trace: Trace, findings: Sequence[Finding]) -> None:
        """Take a trace's violations of this rule."""
        for column in {_column(one) for one in findings}:
            setattr(self, column, getattr(self, column) + 1)
        if self.first is None and findings:
            self.first = trace, findings[0].act

    def as_json(self) -> dict[str, Any]:
        """Return it JSON-ready."""
        return {
            "rule": self.rule.id,
            "severity": self.rule.severity,
            "sentence": self.rule.sentence,
            **{name: getattr(self, name) for name in COLUMNS},
            "first": None if self.first is None else {"trace": self.first[0], "step": self.first[1]},
        }


COLUMNS = ("for_good", "at_end", "prevented", "corrected", "unknown")


def _column(finding: Finding) -> str:
    if finding.tier is Tier.EXECUTED:
        return "at_end" if finding.k is None else "for_good"
    return finding.tier.value


MOST_BINS = 32
FEWEST = 10
CLEAR = 1.96
"""Standard errors by which the later half of the traces must differ from the earlier to be called a trend."""


@dataclass
class Course:
    """How many of the traces so far have a violation, in bins of equal width, at most `MOST_BINS`."""

    width: int = 1
    bins: list[int] = field(default_factory=list)

    def add(self, number: int) -> None:
        """Take a trace with a violation, by its number from 0."""
        while number >= self.width * MOST_BINS:
            self.width *= 2
            self.bins = [sum(self.bins[at : at + 2]) for at in range(0, len(self.bins), 2)]
        self.bins += [0] * (number // self.width + 1 - len(self.bins))
        self.bins[number // self.width] += 1

    def halves(self, traces: int) -> tuple[int, int, str]:
        """Return how many traces of the earlier and later half have one, and whether that is a trend.

        `steady` stands for no clear difference, and for fewer than `FEWEST` traces with one.
        """
        at = -(-traces // (2 * self.width))
        earlier, later = sum(self.bins[:at]), sum(self.bins[at:])
        sizes = (min(at * self.width, traces), traces - min(at * self.width, traces))
        if not all(sizes) or earlier + later < FEWEST:
            return earlier, later, "steady"
        share = (earlier + later) / traces
        error = (share * (1 - share) * (1 / sizes[0] + 1 / sizes[1])) ** 0.5
        moved = later / sizes[1] - earlier / sizes[0]
        if abs(moved) <= CLEAR * error:
            return earlier, later, "steady"
        return earlier, later, "rising" if moved > 0 else "falling"


@dataclass
class Group:
    """Equal violations: of one rule, by calls of one tool, with one outcome."""

    rule: Rule
    outcome: str
    tool: str | None
    first: tuple[Trace, int | None]
    evidence: str = ""
    count: int = 0
    course: Course = field(default_factory=Course)

    def as_json(self, traces: int) -> dict[str, Any]:
        """Return it JSON-ready; `traces` is the number of all."""
        earlier, later, trend = self.course.halves(traces)
        return {
            "rule": self.rule.id,
            "outcome": self.outcome,
            "tool": self.tool,
            "count": self.count,
            "traces": {"earlier": earlier, "later": later, "trend": trend},
            "first": {"trace": self.first[0], "step": self.first[1], "evidence": self.evidence or None},
        }


@dataclass
class RuleTally:
    """The violations of traces that come one by one; its size does not grow with their number.

    Attributes:
        traces: how many there were.
        violating: how many violated a rule by an executed call, or as they ended.
        acts: executed violations, several by one call counted once.
        unread: lines that were no trace.
        places: how many argument values stand where, if a rule asks.
        without_schema: the tools whose calls a rule cannot judge, as their schemas are not known.
    """

    rules: Sequence[Rule]
    traces: int = 0
    violating: int = 0
    acts: int = 0
    unread: int = 0
    groups: dict[tuple[str, str, str | None], Group] = field(default_factory=dict)
    places: Counter[PlaceKind] = field(default_factory=Counter)
    without_schema: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.counts = {rule.id: RuleCount(rule) for rule in self.rules}

    def add(self, checked: Checked) -> None:
        """Take a trace with its violations."""
        trace, findings, places, without_schema, _ = checked
        self.places.update(places)
        self.without_schema |= without_schema
        executed = [one for one in findings if one.tier is Tier.EXECUTED]
        self.violating += bool(executed)
        self.acts += sum(1 for _ in acts(executed))
        for count in self.counts.values():
            count.add(trace, [one for one in findings if one.rule.id == count.rule.id])
        found = set()
        for one in findings:
            key = (one.rule.id, _column(one), one.tool)
            new = Group(one.rule, _column(one), one.tool, (trace, one.act), one.evidence)
            group = self.groups.setdefault(key, new)
            group.count += 1
            found.add(key)
        for key in found:
            self.groups[key].course.add(self.traces)
        self.traces += 1

    def grouped(self) -> list[Group]:
        """Return the groups, the gravest rules' first, then the largest."""
        return sorted(self.groups.values(), key=lambda one: (SEVERITIES.index(one.rule.severity), -one.count))

    def as_json(self) -> dict[str, Any]:
        """Return all figures, JSON-ready."""
        return {
            "traces": self.traces,
            "violating": self.violating,
            "acts": self.acts,
            "unread": self.unread,
            "rules": [count.as_json() for count in self.counts.values()],
            "violations": [group.as_json(self.traces) for group in self.grouped()],
            "places": dict(self.places) or None,
            "without_schema": sorted(self.without_schema),
        }
