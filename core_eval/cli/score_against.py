"""`pathrig score --db LOG --against METRIC`: how well each score and rule tells episodes that failed."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.text import Text

from core_eval.cli.output import UsageError, console, print_json
from core_eval.log import EpisodeRow, LogError, LogReader
from core_eval.report.tables.fitted_table import Hanging, Table
from core_eval.report.tables.scorings import notes
from core_eval.rules.episode import logged_calls, told_at_first
from core_eval.rules.monitor import Finding, Tier, acts, violations
from core_eval.rules.rule_file import Rule
from core_eval.score.metrics import LESS_IS_BETTER, METRICS
from core_eval.statistics.intervals import wilson
from core_eval.statistics.ranking import Ranking, ranking

LEVEL = 0.95
ALL_RULES = "all rules"
BY_GOLD = frozenset(
    {
        *("path_correctness", "pc_ktc", "prefix_criticality", "harmful_calls", "off_path", "refused_writes"),
        *("harmful_call_rate", "efficiency", "path_correctness_hlr", "accepted", "over_refusal", "loops"),
        *("pre_caution_recall", "post_caution_recall", "response_ok", "condensed"),
    }
)
"""Metrics by the task's own golden paths: against an outcome that is by them too, they go in a circle."""
BY_WORLD = frozenset(
    {"reward", "goal_met", "final_state_ok", "harm_behind_ok_state", "deviations", "hidden_deviations"}
)
DONE, NOTHING = 0, 1
"""Exit statuses."""


@dataclass
class Scored:
    """The episodes of a log whose outcome is known, and what is held against it.

    Attributes:
        failed: whether each failed.
        groups: the unit of statistics of each.
        scores: of each metric and rule, the values, larger where worse; None where an episode has none.
        kinds: what each is by: `rules`, `golden paths`, `world` or `course`.
        violating: how many of those that did not fail violate a rule.
    """

    failed: list[bool] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    scores: dict[str, list[float | None]] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    violating: int = 0

    def add(self, episode: EpisodeRow, outcome: float, findings: Mapping[str, float], exclude: str) -> None:
        """Take an episode."""
        given: dict[str, float | None] = dict(findings)
        known: Mapping[str, float | None] = {**episode.scores, "reward": episode.reward}
        for metric in METRICS:
            if metric.name != exclude and (value := known.get(metric.name)) is not None:
                given[metric.name] = value if metric.name in LESS_IS_BETTER else -value
        for name, value in given.items():
            self.scores.setdefault(name, [None] * len(self.failed)).append(value)
            self.kinds.setdefault(name, "rules" if name in findings else _kind(name))
        for name in self.scores.keys() - given.keys():
            self.scores[name].append(None)
        self.failed.append(outcome < 1)
        self.groups.append(episode.template)
        self.violating += outcome >= 1 and findings.get(ALL_RULES, 0) > 0

    def rankings(self) -> dict[str, Ranking]:
        """Return how well each ranks failed episodes first, the largest area first within its kind."""
        found = {}
        for name, values in self.scores.items():
            has = [place for place, value in enumerate(values) if value is not None]
            mine = [float(values[place] or 0.0) for place in has]
            if len(set(mine)) > 1:
                failed = [self.failed[place] for place in has]
                one = ranking(mine, failed, [self.groups[place] for place in has], LEVEL)
                if one is not None:
                    found[name] = one
        kinds = ("rules", "course", "world", "golden paths")
        return dict(sorted(found.items(), key=lambda item: (kinds.index(self.kinds[item[0]]), -item[1].auc)))


def _kind(name: str) -> str:
    if name in BY_GOLD:
        return "golden paths"
    return "world" if name in BY_WORLD or "harm" in name or "cost" in name else "course"


def score_against(db: Path, against: str, rules: Sequence[Rule], *, as_json: bool) -> int:
    """Print how well scores and rules tell the episodes of a log that failed; return the exit status."""
    scored = Scored()
    damaged: list[tuple[int, str | None]] = []
    with LogReader(db) as reader:
        for episode_id in reader.episode_ids():
            try:
                episode = reader.episode(episode_id)
                outcome = episode.reward if against == "reward" else episode.scores.get(against)
                if episode.status == "running" or outcome is None:
                    continue
                made = logged_calls(reader, episode, rules)
                found = violations(rules, made, told_at_first(reader, episode)) if rules else []
                scored.add(episode, outcome, _counts(rules, found), against)
            except LogError as error:
                damaged.append((episode_id, str(error)))
    for line in notes(damaged):
        print(f"{line}; left out", file=sys.stderr)
    if not scored.failed:
        raise UsageError(f"--against {against}: no ended episode of {db} has it")
    rankings = scored.rankings()
    if as_json:
        print_json(_as_json(scored, rankings, has_rules=bool(rules)))
    else:
        _print(scored, rankings, against, has_rules=bool(rules))
    return DONE if rankings else NOTHING


def _counts(rules: Sequence[Rule], findings: Sequence[Finding]) -> dict[str, float]:
    """Return how many executed violations each rule has, and how many acts all of them."""
    if not rules:
        return {}
    executed = [one for one in findings if one.tier is Tier.EXECUTED]
    counts = {rule.id: float(sum(one.rule.id == rule.id for one in executed)) for rule in rules}
    return {ALL_RULES: float(len([*acts(executed)])), **counts}


def _as_json(scored: Scored, rankings: Mapping[str, Ranking], *, has_rules: bool) -> dict[str, Any]:
    right = scored.failed.count(False)
    return {
        "episodes": len(scored.failed),
        "failed": scored.failed.count(True),
        "not_failed_with_violation": {"count": scored.violating, "of": right} if has_rules else None,
        "scores": {
            name: {
                "by": scored.kinds[name],
                "episodes": one.tries,
                "failed": one.failed,
                "auc": one.auc,
                "auc_interval": one.auc_interval,
                "average_precision": one.average_precision,
                "average_precision_interval": one.average_precision_interval,
                "curve": [
                    dict(zip(("false_alarms", "recall", "precision"), p, strict=True)) for p in one.points
                ],
            }
            for name, one in rankings.items()
        },
    }


def _print(scored: Scored, rankings: Mapping[str, Ranking], against: str, *, has_rules: bool) -> None:
    out = console()
    if has_rules and (right := scored.failed.count(False)):
        low, high = wilson(scored.violating / right, right, LEVEL)
        share = f"{scored.violating / right:.1%} ({low:.1%} to {high:.1%})"
        out.print(f"{scored.violating} of {right} episodes with {against} violate a rule: {share}")
    failed = scored.failed.count(True)
    out.print(f"{failed} of {len(scored.failed)} episodes failed by {against}")
    if not rankings:
        out.print("no score tells them apart: none or all failed, or all scores are equal")
        return
    numbers = ("episodes", "AUC", "interval", "PR area", "its interval")
    table = Table("score", "by", *numbers, numbers=numbers)
    for name, one in rankings.items():
        table.add_row(
            *(name, scored.kinds[name], str(one.tries)),
            *(f"{one.auc:.3f}", _interval(one.auc_interval)),
            *(f"{one.average_precision:.3f}", _interval(one.average_precision_interval)),
        )
    out.print(table)
    out.print(
        Hanging(Text(f"a score that knows nothing has AUC 0.5 and PR area {failed / len(scored.failed):.3f}"))
    )


def _interval(interval: tuple[float, float]) -> str:
    return f"{interval[0]:.3f} to {interval[1]:.3f}"
