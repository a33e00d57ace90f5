"""Violations of many traces, counted by rule and grouped where they are equal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from core_eval.rules.monitor import Finding, Tier, acts
from core_eval.rules.rule_file import SEVERITIES, Rule

Trace = str | int


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


@dataclass
class Group:
    """Equal violations: of one rule, by calls of one tool, with one outcome."""

    rule: Rule
    outcome: str
    tool: str | None
    first: tuple[Trace, int | None]
    count: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return it JSON-ready."""
        return {
            "rule": self.rule.id,
            "outcome": self.outcome,
            "tool": self.tool,
            "count": self.count,
            "first": {"trace": self.first[0], "step": self.first[1]},
        }


@dataclass
class RuleTally:
    """The violations of traces that come one by one; its size does not grow with their number.

    Attributes:
        traces: how many there were.
        violating: how many violated a rule by an executed call, or as they ended.
        acts: executed violations, several by one call counted once.
        unread: lines that were no trace.
    """

    rules: Sequence[Rule]
    traces: int = 0
    violating: int = 0
    acts: int = 0
    unread: int = 0
    groups: dict[tuple[str, str, str | None], Group] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.counts = {rule.id: RuleCount(rule) for rule in self.rules}

    def add(self, trace: Trace, findings: Sequence[Finding]) -> None:
        """Take a trace's violations, as `violations` returns them."""
        self.traces += 1
        executed = [one for one in findings if one.tier is Tier.EXECUTED]
        self.violating += bool(executed)
        self.acts += sum(1 for _ in acts(executed))
        for count in self.counts.values():
            count.add(trace, [one for one in findings if one.rule.id == count.rule.id])
        for one in findings:
            key = (one.rule.id, _column(one), one.tool)
            group = self.groups.setdefault(key, Group(one.rule, _column(one), one.tool, (trace, one.act)))
            group.count += 1

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
            "violations": [group.as_json() for group in self.grouped()],
        }
