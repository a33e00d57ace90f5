"""The violations of rules, as tables."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from core_eval.report.tables.fitted_table import Hanging, Table
from core_eval.rules.given_text import PlaceKind
from core_eval.rules.tally import COLUMNS, RuleTally
from core_eval.text.visible_text import visible

_HEADINGS = {
    "for_good": "for good",
    "at_end": "at the end",
    "prevented": "prevented",
    "corrected": "corrected",
    "unknown": "unknown",
}
MOST_GROUPS = 20
"""Groups of equal violations that are listed; --json has all."""


def rule_tables(tally: RuleTally) -> Iterator[Table | Hanging]:
    """Yield how many traces violate each rule, the sentences, and equal violations with their counts."""
    shown = [name for name in COLUMNS[2:] if any(getattr(one, name) for one in tally.counts.values())]
    columns = [*COLUMNS[:2], *shown]
    numbers = [_HEADINGS[name] for name in columns]
    table = Table(
        *("rule", "severity", *numbers, "first", "sentence"), numbers=numbers, optional=("severity", "first")
    )
    for count in tally.counts.values():
        first = "" if count.first is None else _place(*count.first)
        figures = [str(getattr(count, name)) for name in columns]
        table.add_row(count.rule.id, count.rule.severity, *figures, first, count.rule.sentence)
    yield table
    if groups := tally.grouped():
        has_evidence = any(group.evidence for group in groups)
        headings = (
            "rule",
            "outcome",
            "tool",
            "count",
            "halves",
            "first",
            *(("evidence",) if has_evidence else ()),
        )
        equal = Table(*headings, numbers=("count", "halves"))
        for group in groups[:MOST_GROUPS]:
            equal.add_row(
                group.rule.id,
                _HEADINGS[group.outcome],
                group.tool or "",
                str(group.count),
                _halves(*group.course.halves(tally.traces)),
                _place(*group.first),
                *((group.evidence,) if has_evidence else ()),
            )
        yield equal
        if len(groups) > MOST_GROUPS:
            yield Hanging(Text(f"{len(groups) - MOST_GROUPS} further groups: see --json", style="dim"))
    if tally.places:
        stands = ", ".join(f"{kind} {tally.places[kind]}" for kind in PlaceKind if tally.places[kind])
        yield Hanging(Text(f"{tally.places.total()} argument values stand: {stands}"))
    if missed := sorted(tally.without_schema):
        named = ", ".join(map(visible, missed[:MOST_GROUPS])) + (", ..." if missed[MOST_GROUPS:] else "")
        yield Hanging(Text(f"calls of {named} are not judged by a schema: none is known", style="yellow"))
    yield Hanging(Text(f"{tally.violating} of {tally.traces} traces violate a rule, by {tally.acts} acts"))


_MARKS = {"rising": " ↑", "falling": " ↓", "steady": ""}


def _halves(earlier: int, later: int, trend: str) -> str:
    return f"{earlier} → {later}{_MARKS[trend]}"


def _place(trace: str | int, step: int | None) -> str:
    return f"{trace}" if step is None else f"{trace}, step {step}"
