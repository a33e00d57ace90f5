"""Two sets of episodes compared, pair by pair: what got better, what worse, and the episodes behind it.

Episodes are paired by task, seed and start. The sets are two agents' of one log, or one agent's of two logs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from json import loads
from math import sqrt
from typing import Any, Literal

from core_eval.log import CHARGED, EpisodeRow
from core_eval.score.comparison import (
    Start,
    by_start,
    corrected,
    difference_json,
    mean_of,
    pair_identity,
    paired_difference,
)
from core_eval.score.episodes import counted
from core_eval.score.metrics import BY_NAME, LESS_IS_BETTER
from core_eval.score.repeated import by_agent
from core_eval.statistics.estimates import ALPHA, FEWEST_UNITS, Estimate, units_needed

Verdict = Literal["better", "worse", "more", "less", ""]
COMPARED = (
    "path_correctness",
    "accepted",
    "prefix_criticality",
    "harmful_calls",
    CHARGED,
    "final_state_ok",
    "calls",
    "output_tokens",
    "agent_seconds",
)
"""The metrics that are compared, in order."""
COSTS = frozenset({"calls", "output_tokens", "agent_seconds"})
"""Metrics that seldom repeat exactly: a change of these alone is none."""
MOST_TOLD = 4
"""Comparisons that the sentence names."""
OPTION = "scaffold="


@dataclass(frozen=True)
class StartChange:
    """A pair whose scores differ.

    Attributes:
        start: task, seed and overrides, as JSON.
        before, after: the numbers of the episodes in their logs.
        values: of each metric, its means before and after; None where there is none.
    """

    start: Start
    before: tuple[int, ...]
    after: tuple[int, ...]
    values: Mapping[str, tuple[float | None, float | None]]

    def difference(self, metric: str) -> float:
        """Return after minus before; 0 where one of them has no value."""
        before, after = self.values.get(metric, (None, None))
        return 0.0 if before is None or after is None else after - before


@dataclass(frozen=True)
class Lone:
    """Episodes from a start that the other side does not have."""

    start: Start
    episodes: tuple[int, ...]


@dataclass(frozen=True)
class Contrast:
    """The second set of episodes minus the first.

    Attributes:
        before, after: what the sets are called.
        pairs: the starts that both have.
        means: of each metric, over the pairs, before and after.
        differences: of each metric, the paired differences.
        tasks: of each task, the mean path correctness before and after.
        changes: the pairs that differ, the largest change of path correctness first.
        only_before, only_after: what one side lacks.
    """

    before: str
    after: str
    pairs: int
    means: Mapping[str, tuple[float | None, float | None]]
    differences: Mapping[str, Estimate]
    tasks: Mapping[str, tuple[float | None, float | None]]
    changes: tuple[StartChange, ...]
    only_before: tuple[Lone, ...]
    only_after: tuple[Lone, ...]

    def verdict(self, name: str) -> Verdict:
        """Return what a metric became, where chance alone seldom gives such a difference; else nothing.

        A cost is more or less: an agent that gives up early is no better for it.
        """
        mean, p = self.differences[name].mean, self.differences[name].p
        if mean is None or p is None or p > ALPHA:
            return ""
        if name in COSTS:
            return "more" if mean > 0 else "less"
        return "better" if (mean > 0) != (name in LESS_IS_BETTER) else "worse"


def judged(contrasts: Sequence[Contrast]) -> list[Contrast]:
    """Return the comparisons of a page with their p-values: in at most 5 % of pages without any true
    difference one or more of them has a verdict.
    """
    found = corrected([one.differences for one in contrasts])
    return [replace(one, differences=own) for one, own in zip(contrasts, found, strict=True)]


Group = tuple[Sequence[EpisodeRow], Sequence[EpisodeRow]]
Pair = tuple[Start, Sequence[EpisodeRow], Sequence[EpisodeRow]]


def comparisons(episodes: Sequence[EpisodeRow], metrics: Sequence[str] | None = None) -> list[Contrast]:
    """Return every two agents that had a start in common, in the order in which they first acted: the first
    minus the second. Episodes of one agent from the same start are averaged; identical pairs are one.
    """
    agents, names = by_agent(episodes), [*BY_NAME] if metrics is None else metrics
    found = (
        contrast(second, first, [(agents[second], agents[first])], names)
        for first, second in combinations(agents, 2)
    )
    return [one for one in found if one.pairs]


def comparison_json(one: Contrast) -> dict[str, Any]:
    """Return two agents compared, with the metrics that at least one pair has."""
    return {
        "agents": [one.after, one.before],
        "pairs": one.pairs,
        "differences": {
            name: difference_json(difference)
            for name, difference in one.differences.items()
            if difference.defined
        },
    }


def contrast(before: str, after: str, groups: Iterable[Group], metrics: Sequence[str] = COMPARED) -> Contrast:
    """Compare sets of episodes; those of one group are paired with each other only."""
    pairs: list[Pair] = []
    alone: tuple[list[Lone], list[Lone]] = ([], [])
    for sets in groups:
        old, new = (by_start(counted(rows)) for rows in sets)
        pairs += [(start, old[start], new[start]) for start in old if start in new]
        for lone, own, other in ((alone[0], old, new), (alone[1], new, old)):
            lone += [Lone(start, _numbers(own[start])) for start in own if start not in other]
    values = [{name: (mean_of(old, name), mean_of(new, name)) for name in metrics} for _, old, new in pairs]
    keys = [(old[0].template, pair_identity(old, new)) for _, old, new in pairs]
    differences = {
        name: paired_difference(name, (_less(*one[name]) for one in values), keys) for name in metrics
    }
    changes = [
        StartChange(start, _numbers(old), _numbers(new), one)
        for (start, old, new), one in zip(pairs, values, strict=True)
        if any(one[name][0] != one[name][1] for name in metrics if name not in COSTS)
    ]
    changes.sort(key=lambda one: (-abs(one.difference("path_correctness")), -abs(one.difference(CHARGED))))
    tasks: dict[str, list[tuple[float | None, float | None]]] = {}
    for (start, _, _), one in zip(pairs, values, strict=True):
        tasks.setdefault(start[0], []).append(one.get("path_correctness", (None, None)))
    return Contrast(
        before,
        after,
        len(pairs),
        {name: _means(one[name] for one in values) for name in metrics},
        differences,
        {task: _means(own) for task, own in tasks.items()},
        tuple(changes),
        tuple(alone[0]),
        tuple(alone[1]),
    )


def model_of(agent: str) -> str:
    """Return a logged agent without its scaffold."""
    head, mark, query = agent.partition("?")
    rest = "&".join(option for option in query.split("&") if option and not option.startswith(OPTION))
    return head + mark * bool(rest) + rest


Grid = Mapping[str, Mapping[str, Sequence[EpisodeRow]]]
"""Model to scaffold to episodes."""


def grid_of(episodes: Iterable[EpisodeRow]) -> Grid:
    """Return the episodes by model and scaffold, in the order in which they first acted."""
    grid: dict[str, dict[str, list[EpisodeRow]]] = {}
    for row in episodes:
        grid.setdefault(model_of(row.agent), {}).setdefault(row.scaffold, []).append(row)
    return grid


def within(grid: Grid) -> list[Contrast]:
    """Compare each model's scaffolds with its first one, and the models with the first one by scaffold.

    Where several are compared, those of all models, or scaffolds, are paired together as well. Models of one
    scaffold each are compared whatever it is.
    """
    if all(len(own) == 1 for own in grid.values()):
        plain = {model: next(iter(own.values())) for model, own in grid.items()}
        return judged([one for one in _against_first({"": plain}, "") if one.pairs])
    scaffolds = list(dict.fromkeys(name for own in grid.values() for name in own))
    by_scaffold = {
        name: {model: own[name] for model, own in grid.items() if name in own} for name in scaffolds
    }
    found = [*_against_first(grid, "all models"), *_against_first(by_scaffold, "all scaffolds")]
    return judged([one for one in found if one.pairs])


def between(before: Sequence[EpisodeRow], after: Sequence[EpisodeRow]) -> list[Contrast]:
    """Compare each agent of one log with itself in another; the only agent of each, whatever they are."""
    old, new = by_agent(before), by_agent(after)
    if len(old) == len(new) == 1:
        ((first, own),) = old.items()
        ((second, other),) = new.items()
        return judged([contrast(f"A {first}", f"B {second}", [(own, other)])])
    both = [agent for agent in old if agent in new]
    found = [contrast(f"A {agent}", f"B {agent}", [(old[agent], new[agent])]) for agent in both]
    if len(both) > 1:
        groups = [(old[agent], new[agent]) for agent in both]
        found.insert(0, contrast("A all agents", "B all agents", groups))
    return judged(found)


def sentence(contrasts: Sequence[Contrast]) -> str:
    """Return in one sentence what is told apart, or how many tasks would tell the difference that is seen."""
    shown = [one for one in contrasts if one.pairs]
    if len(shown) == 1:
        return f"{_pairs(shown[0])}: {_finding(shown[0])}."
    told = [one for one in shown if _told(one)]
    if not told:
        return f"{len(shown)} comparisons: nothing is told apart; {_needed(shown[0])}."
    named = "; ".join(f"{one.before} to {one.after}: {_finding(one)}" for one in told[:MOST_TOLD])
    rest = f"; and {len(told) - MOST_TOLD} more" if len(told) > MOST_TOLD else ""
    return f"{len(told)} of {len(shown)} comparisons tell something apart: {named}{rest}."


def _finding(one: Contrast) -> str:
    return ", ".join(_told(one)) or f"nothing is told apart; {_needed(one)}"


def _told(one: Contrast) -> list[str]:
    """Return the metrics with a verdict and their differences."""
    return [
        f"{BY_NAME[name].heading} {word} ({difference.mean:+.3g})"
        for name, difference in one.differences.items()
        if (word := one.verdict(name))
    ]


def _needed(one: Contrast) -> str:
    """Return how many tasks would tell the difference of path correctness that is seen."""
    seen = one.differences["path_correctness"]
    unit = "tasks" if len(one.tasks) > 1 else "different tries of the task"
    if seen.mean == 0.0 and not seen.standard_error:
        return "no pair differs in path correctness"
    if not seen.mean or not seen.standard_error:
        return f"that takes {FEWEST_UNITS} {unit} at least"
    needed = units_needed(seen.standard_error * sqrt(seen.units), abs(seen.mean))
    return f"about {needed} {unit} would tell a difference of {abs(seen.mean):.2g} in path correctness"


def _pairs(one: Contrast) -> str:
    return "1 pair" if one.pairs == 1 else f"{one.pairs} pairs"


def contrast_json(one: Contrast) -> dict[str, Any]:
    """Return a comparison, JSON-ready."""
    return {
        "before": one.before,
        "after": one.after,
        "pairs": one.pairs,
        "metrics": {
            name: {
                "before": one.means[name][0],
                "after": one.means[name][1],
                **difference_json(summary),
                "p_corrected": summary.p,
                "detectable": summary.detectable,
                "verdict": one.verdict(name) or None,
            }
            for name, summary in one.differences.items()
            if summary.defined
        },
        "changes": [
            {
                **_start_json(change.start),
                "before": list(change.before),
                "after": list(change.after),
                "metrics": {
                    name: list(values) for name, values in change.values.items() if values[0] != values[1]
                },
            }
            for change in one.changes
        ],
        "only_before": [
            {**_start_json(lone.start), "episodes": list(lone.episodes)} for lone in one.only_before
        ],
        "only_after": [
            {**_start_json(lone.start), "episodes": list(lone.episodes)} for lone in one.only_after
        ],
    }


def _against_first(grid: Grid, together: str) -> list[Contrast]:
    """Compare, in each row of a grid, its columns with the first one."""
    found: list[Contrast] = []
    pooled: dict[tuple[str, str], list[Group]] = {}
    for row, cells in grid.items():
        first, *others = cells
        for other in others:
            names = f"{row} {first}".strip(), f"{row} {other}".strip()
            found.append(contrast(*names, [(cells[first], cells[other])]))
            pooled.setdefault((first, other), []).append((cells[first], cells[other]))
    whole = [
        contrast(f"{together} {first}", f"{together} {other}", groups)
        for (first, other), groups in pooled.items()
        if len(groups) > 1
    ]
    return [*whole, *found]


def _start_json(start: Start) -> dict[str, Any]:
    return {"task": start[0], "seed": start[1], "init": loads(start[2])}


def _numbers(rows: Sequence[EpisodeRow]) -> tuple[int, ...]:
    return tuple(row.id for row in rows)


def _less(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


def _means(pairs: Iterable[tuple[float | None, float | None]]) -> tuple[float | None, float | None]:
    """Return the means over the pairs that have both values."""
    known = [(old, new) for old, new in pairs if old is not None and new is not None]
    if not known:
        return None, None
    return sum(old for old, _ in known) / len(known), sum(new for _, new in known) / len(known)
