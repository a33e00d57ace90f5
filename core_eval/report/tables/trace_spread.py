"""How the scores of many traces spread: estimates with their intervals, over all and per task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core_eval.report.tables.traces import TraceGroup, TraceSummary
from core_eval.score.metrics import BY_NAME
from core_eval.statistics.estimates import Estimate, pass_hat_k, summarize
from core_eval.statistics.intervals import Floats, Groups
from core_eval.traces.scored_traces import SCORE_NAMES

MOST_TRIES = 10
"""pass^k is reported for k from 1 to the number of distinct tries, up to this maximum."""


class Tries(NamedTuple):
    """The distinct tries of a task, in the order in which they came first.

    Attributes:
        rows: the row of scores of each.
        times: how many traces there are of each.
        all, passed: how many traces there are, and passed, where what was run over again as a whole counts
            once.
    """

    rows: NDArray[np.int64]
    times: NDArray[np.int64]
    all: int
    passed: int

    @property
    def distinct(self) -> int:
        """How many there are."""
        return len(self.rows)


def summary_json(summary: TraceSummary) -> dict[str, Any]:
    """Return the figures, JSON-ready."""
    content = summary.aggregate.content
    groups = {group: _tries(group) for group in summary.tasks.values()}
    everywhere = _spread(groups)
    means = {name: one.mean for name, one in everywhere.items()}
    return {
        "scored": summary.scored,
        "failed": summary.failed,
        **_group_json(groups, everywhere),
        **means,
        "defined": {name: one.defined for name, one in everywhere.items()},
        "inexact": {name: one.inexact for name, one in everywhere.items() if one.inexact},
        "tasks": [
            {"task": task, "scored": len(group), **_group_json(alone, _spread(alone))}
            for task, group in summary.tasks.items()
            for alone in ({group: groups[group]},)
        ],
        "aggregate": {
            "file": str(summary.aggregate.file),
            "weights": content.weights,
            "critical": content.critical,
            "value": summary.aggregate.value(means),
        },
    }


def _tries(group: TraceGroup) -> Tries:
    identities = np.frombuffer(group.identities, np.int64)
    # As np.unique, which imports more than it takes.
    order = np.argsort(identities, kind="stable")
    begins = np.flatnonzero(np.diff(identities[order], prepend=~identities[order[:1]]))
    counts = np.diff(begins, append=len(order))
    came = np.argsort(order[begins])
    times = counts[came]
    whole = int(np.gcd.reduce(times))
    rows = np.frombuffer(group.rows, np.int64)[order[begins][came]]
    return Tries(rows, times, len(group) // whole, group.passed // whole)


def _scores(group: TraceGroup) -> Floats:
    return np.frombuffer(group.scores).reshape(-1, len(SCORE_NAMES))


def _spread(groups: Mapping[TraceGroup, Tries]) -> dict[str, Estimate]:
    if not groups:
        return dict.fromkeys(SCORE_NAMES, Estimate())
    known = list(groups.values())
    tasks = np.repeat(np.arange(len(known)), [one.distinct for one in known])
    # The same course in two tasks makes two tries.
    keys = Groups(tasks, np.arange(len(tasks)), np.concatenate([one.times for one in known]))
    values = np.concatenate([_scores(group)[one.rows] for group, one in groups.items()])
    inexact = sum((group.inexact for group in groups), Counter[str]())
    return {
        name: summarize(
            values[:, place],
            keys,
            flag=BY_NAME[name].kind == "flag",
            limits=BY_NAME[name].limits,
            inexact=inexact[name],
        )
        for place, name in enumerate(SCORE_NAMES)
    }


def _group_json(groups: Mapping[TraceGroup, Tries], everywhere: Mapping[str, Estimate]) -> dict[str, Any]:
    known = list(groups.values())
    most = min(MOST_TRIES, max((one.distinct for one in known), default=0))
    chances = {
        str(k): pass_hat_k(((one.passed, one.all) for one in known if one.distinct >= k), k)
        for k in range(1, most + 1)
    }
    return {
        "passed": sum(group.passed for group in groups),
        "distinct": sum(one.distinct for one in known),
        "pass_k": chances,
        "statistics": {name: one.as_json() for name, one in everywhere.items()},
    }
